# ruby 3.3.5 in .
# Written by Tend: Gemfile says so.
FROM ruby:3.3.5-slim
ENV RACK_ENV=production APP_ENV=production BUNDLE_WITHOUT=development:test
RUN apt-get update && apt-get install -y --no-install-recommends build-essential git libpq-dev libyaml-dev pkg-config default-libmysqlclient-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY Gemfile Gemfile.lock ./
RUN BUNDLE_FROZEN=1 bundle install
RUN useradd --system --create-home --uid 10001 app && chown app /app
COPY --chown=10001 . .
USER 10001
CMD ["bundle","exec","puma","-b","tcp://0.0.0.0:9292"]
