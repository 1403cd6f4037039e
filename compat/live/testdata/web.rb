# frozen_string_literal: true

# Visits every page of resque-web, with the scheduler's and resque-retry's, inside
# this process. Which pages there are, the app's own table of routes says.

require 'erb'
require 'resque/server'
require 'resque/scheduler/server'
require 'resque-retry/server'
require 'rack/mock'

Resque::Server.set :environment, :test
Resque::Server.set :raise_errors, true
Resque::Server.set :show_exceptions, false

# The pages of resque-web as somebody sees who opens all of them.
class Visitor
  # What stands for the parts of a path, by the route up to there.
  PARTS = {
    '/overview/:id' => -> { ['overview'] },
    '/queues/:id' => -> { Resque.queues },
    '/working/:id' => -> { workers },
    '/workers/:id' => -> { workers + ['all'] + Resque.workers.map(&:hostname).uniq },
    '/key/:id' => -> { ['failed'] },
    '/failed/:queue' => -> { Resque::Failure.queues.map(&:to_s) },
    '/failed/requeue/:index' => -> { ['0'] },
    '/failed/remove/:index' => -> { ['0'] },
    '/failed/:queue/requeue/:index' => -> { ['0'] },
    '/failed/:queue/remove/:index' => -> { ['0'] },
    '/stats/:id' => -> { %w[resque redis keys] },
    '/stats/keys/:key' => -> { Resque.data_store.all_resque_keys.reject { |k| k.start_with?('understudy:') } },
    '/delayed/jobs/:klass' => -> { times.flat_map { |t| jobs_at(t).map { |j| j['class'] } }.uniq },
    '/delayed/:timestamp' => -> { times },
    '/retry/:timestamp' => -> { times },
  }.freeze

  attr_reader :bodies

  def initialize
    @web = Rack::MockRequest.new(Resque::Server.new)
    @bodies = {}
    @troubles = {}
  end

  # Answers what is wrong, by path. Pages that change something come last.
  def visit_all
    changing, reading = routes.partition { |route| route.match?(%r{/(requeue|remove)/}) }
    reading.each { |route| paths(route).each { |path| visit(path) } }
    until (links = unseen_links).empty?
      links.each { |link| visit(link) }
    end
    ['', 'slow', 'later'].each { |text| search(text) }
    changing.each { |route| paths(route).each { |path| visit(path) } }
    @troubles
  end

  # Answers which of the paths fail here as well.
  def troubles_of(paths)
    paths.each { |path| visit(path) }
    @troubles
  end

  # One request, without following where it leads: the status, where to, the page.
  def request(method, path, params = {})
    response = @web.request(method, path, 'HTTP_HOST' => 'localhost', :params => params)
    page = response.body.dup.force_encoding('UTF-8').scrub
    [response.status, response.headers['Location'].to_s, page.gsub(/Server local time: .*/, '').gsub(Resque.redis.namespace.to_s, 'resque')]
  end

  def routes
    Resque::Server.routes['GET'].map { |pattern, *| pattern.to_s.delete_suffix('/?') }
  end

  def paths(route)
    done = ['']
    so_far = +''
    route.delete_prefix('/').split('/').each do |segment|
      so_far << '/' << segment
      values = values_of(segment, so_far.sub(/\.poll\z/, ''))
      done = done.flat_map { |path| values.map { |value| "#{path}/#{ERB::Util.url_encode(value)}" } }
    end
    done.map { |path| path.empty? ? '/' : path }
  end

  private

  def values_of(segment, so_far)
    name = segment[/\A:\w+/] or return [segment]
    values = PARTS[so_far] or raise "web.rb says nothing about #{so_far}: a new route?"
    values = instance_exec(&values).map(&:to_s)
    raise "no data for #{so_far}" if values.empty?

    values.map { |value| value + segment.delete_prefix(name) }
  end

  def workers
    Resque.workers.map(&:to_s)
  end

  def times
    Resque.delayed_queue_peek(0, 100)
  end

  def jobs_at(time)
    Resque.delayed_timestamp_peek(time, 0, 100)
  end

  # Links that no route says: other pages of a list, filters, a class's schedules.
  # Keys are linked without being escaped.
  def unseen_links
    links = @bodies.values.flat_map { |body| body.scan(/href=['"]([^'"#]+)/).flatten }.uniq
    links.map { |link| link.gsub('&amp;', '&') }.select { |link| link.start_with?('/') && link.include?('?') } - @bodies.keys - @troubles.keys
  end

  def visit(path)
    response = @web.get(path, 'HTTP_HOST' => 'localhost')
    redirects = 0
    while response.redirect? && (redirects += 1) < 5
      response = @web.get(response.headers['Location'].sub(%r{\Ahttps?://[^/]+}, ''), 'HTTP_HOST' => 'localhost')
    end
    note(path, response)
  rescue StandardError => e
    @troubles[path] = "#{e.class}: #{e.message} (#{(e.backtrace || []).first})"
  end

  def search(text)
    note("POST /delayed/search #{text}", @web.post('/delayed/search', 'HTTP_HOST' => 'localhost', params: { 'search' => text }))
  rescue StandardError => e
    @troubles["POST /delayed/search #{text}"] = "#{e.class}: #{e.message} (#{(e.backtrace || []).first})"
  end

  def note(path, response)
    @bodies[path] = response.body.dup.force_encoding('UTF-8').scrub
    @troubles[path] = "answers #{response.status}" unless response.ok?
  end
end
