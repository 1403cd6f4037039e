# frozen_string_literal: true

# Retry keys, by the inspect of this Ruby.

require_relative '../recorder/keys'

Recorder.record_keys(ARGV[0], { 'a' => 1 }.inspect == '{"a"=>1}' ? '3.3' : '3.4')
