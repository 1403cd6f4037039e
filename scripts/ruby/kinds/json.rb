# frozen_string_literal: true

# Payloads, what Ruby reads in them and what it encodes again; and text that is
# none.

require_relative '../recorder/arguments'
require_relative '../recorder/setup'

PAYLOADS = [
  '{"class":"X","args":[1.0,1e2,1E+2,-0.0,0.10,12345678901234567890,1.5e300]}', '{ "class" : "X" , "args" : [ 1 , 2 ] }',
  '{"args":[1],"class":"X"}', '{"class":"X","args":["\u00e9\/\u003c\ud83d\ude42\u2028\u0001\u007f"]}',
  '{"class":"X","args":[{"b":1,"a":2,"b":3}]}', '{"class":"X","args":[],"extra":{"k":[]},"queue":"q"}',
  '{"class":"X"}', '{"class":"X","args":null}', '{"class":"X","args":{"a":1}}', '{"class":"X","args":[[],{},"",null,true,false]}',
  '{"class":"A::B","args":["<script>&amp;\'\"\\\\"]}',
].freeze
MALFORMED = ['', '{', '[]', 'null', '"x"', '{"class":"X","args":[}', "{\"class\":\"X\",\"args\":[\"\xff\xfe\"]}",
             '{"class":5,"args":[]}', '{"args":[]}', '{"class":"X","args":[NaN]}'].freeze

def decoded(raw)
  { 'decoded' => MultiJson.load(raw) }
rescue StandardError => e
  { 'error' => e.class.name }
end

def malformed(raw)
  row = { 'raw_hex' => raw.b.unpack1('H*') }
  full = row.merge(decoded(raw))
  JSON.generate(full)
  full
rescue StandardError
  row.merge('decoded' => 'not UTF-8')
end

rows = (PAYLOADS + Recorder::Arguments.drawn.first(120).map { |a| JSON.generate('class' => 'X', 'args' => a) }).map do |raw|
  read = MultiJson.load(raw)
  { 'raw' => raw, 'encoded' => MultiJson.dump(read), 'args_encoded' => MultiJson.dump(read['args']) }
end
Recorder.write(ARGV[0], { 'recorded with' => Recorder.versions }, { 'rows' => rows, 'malformed' => MALFORMED.map { |raw| malformed(raw) } })
