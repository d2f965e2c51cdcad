# rails 3.4.2 in .
# Written by Tend: config/application.rb says so.
FROM ruby:3.4.2-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential git libpq-dev libyaml-dev pkg-config nodejs npm && rm -rf /var/lib/apt/lists/*
RUN npm install --global yarn
WORKDIR /app
ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1
COPY Gemfile Gemfile.lock ./
RUN BUNDLE_FROZEN=1 bundle install
COPY package.json yarn.lock ./
RUN yarn install
COPY . .
RUN SECRET_KEY_BASE_DUMMY=1 SECRET_KEY_BASE=unused bundle exec rails assets:precompile

FROM ruby:3.4.2-slim
RUN apt-get update && apt-get install -y --no-install-recommends libpq5 libyaml-0-2 libvips42 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1
COPY --from=build /usr/local/bundle /usr/local/bundle
COPY --from=build /app /app
RUN useradd --system --create-home rails && mkdir -p db log storage tmp && chown -R rails db log storage tmp
USER rails
EXPOSE 3000
CMD ["bundle","exec","puma","-p","3000"]
