# Writes stackprof.json: samples of methods that call each other and themselves.
require 'json'
require 'stackprof'

class Work
  def sum(n) = (1..n).sum { |i| i * 0.5 }

  def run(depth, n) = depth.zero? ? sum(n) : digits(n) + run(depth - 1, n)

  def digits(n) = sum(n) + n.to_s.reverse.to_i
end

profile = StackProf.run(mode: :wall, interval: 1000, raw: true) do
  20.times { Work.new.run(3, 12_000) }
  (1..50_000).map(&:to_s).sort
end
File.write('stackprof.json', JSON.generate(profile))
