# ruby 3.3.1 in .
# Written by Tend: Gemfile says so.
FROM ruby:3.3.1-slim
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY Gemfile Gemfile.lock ./
RUN bundle config set --local without 'development test' && bundle install
COPY . .
CMD ["bundle","exec","rackup","--host","0.0.0.0"]
