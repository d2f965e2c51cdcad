# rails  in .
# Written by Tend: config/application.rb says so.
FROM ruby:3-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential git libpq-dev libyaml-dev pkg-config && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1
COPY Gemfile Gemfile.lock ./
RUN BUNDLE_FROZEN=1 bundle install
COPY . .

FROM ruby:3-slim
RUN apt-get update && apt-get install -y --no-install-recommends libpq5 libyaml-0-2 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1
COPY --from=build /usr/local/bundle /usr/local/bundle
COPY --from=build /app /app
RUN useradd --system --create-home rails && mkdir -p db log storage tmp && chown -R rails db log storage tmp
USER rails
EXPOSE 3000
CMD ["/bin/sh","-c","bin/rails server -b 0.0.0.0"]
