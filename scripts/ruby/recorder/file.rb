# frozen_string_literal: true

require 'json'

module Recorder
  module_function

  # Writes a file: a head, and lists with an element a line.
  def write(path, head, lists)
    File.open(path, 'w') do |f|
      f.puts "{#{head.map { |k, v| "#{k.to_json}:#{JSON.generate(v)}," }.join}"
      f.puts(lists.map { |name, rows| "#{name.to_json}:[\n#{rows.map { |r| JSON.generate(r) }.join(",\n")}\n]" }.join(','))
      f.puts '}'
    end
    name = File.basename(path, '.part')
    puts "#{name}: #{lists.map { |list, rows| "#{rows.size} #{list}" }.join(', ')} (#{head['recorded with'].map { |k, v| "#{k} #{v}" }.join(', ')})"
  end
end
