# frozen_string_literal: true

require 'fileutils'
require 'socket'
require 'tmpdir'

module Recorder
  # A redis-server that lives as long as a block.
  class Server
    # Why there is none.
    class Error < StandardError; end

    ABSENT = 'no redis-server on the PATH: install it (apt-get install redis-server, brew install redis), or give --redis URL'

    def self.run
      server = new
      yield server.start
    ensure
      server&.stop
    end

    def initialize
      @dir = Dir.mktmpdir('recorder')
    end

    # Answers the server's URL once it answers.
    def start
      port = free_port
      log = File.join(@dir, 'log')
      @pid = spawn('redis-server', '--port', port.to_s, '--bind', '127.0.0.1', '--dir', @dir, '--save', '',
                   '--appendonly', 'no', in: File::NULL, out: log, err: log)
      await(port, log)
      "redis://127.0.0.1:#{port}"
    rescue Errno::ENOENT
      raise Error, ABSENT
    end

    def stop
      if @pid
        Process.kill('TERM', @pid)
        Process.wait(@pid)
      end
    rescue Errno::ESRCH, Errno::ECHILD
      nil # it ended by itself
    ensure
      FileUtils.rm_rf(@dir)
    end

    private

    def free_port
      TCPServer.open('127.0.0.1', 0) { |s| s.addr[1] }
    end

    def await(port, log)
      deadline = now + 10
      until answers?(port)
        raise Error, "redis-server ended at its start:\n#{File.read(log)}" if Process.wait(@pid, Process::WNOHANG)
        raise Error, "redis-server didn't answer in 10 s:\n#{File.read(log)}" if now > deadline

        sleep 0.01
      end
    end

    def answers?(port)
      TCPSocket.open('127.0.0.1', port) do |s|
        s.write("PING\r\n")
        s.gets == "+PONG\r\n"
      end
    rescue SystemCallError
      false
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
