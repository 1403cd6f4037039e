# frozen_string_literal: true

# Ruby's scheduler, in a process that can be killed, or in turns.

# Runs until the process ends. Settings are those of Resque::Scheduler.
def schedule(settings = {})
  settings.each { |name, value| Resque::Scheduler.public_send("#{name}=", value) }
  Resque::Scheduler.poll_sleep_amount = 0.1
  Resque::Scheduler.run
end

# One turn: moves what is due and gives the lock away. Answers whether it was the
# master.
def turn
  master = Resque::Scheduler.master?
  Resque::Scheduler.instance_variable_set(:@am_master, master)
  Resque::Scheduler.handle_delayed_items if master
  master
ensure
  Resque::Scheduler.release_master_lock
end

# Turns until a key is there.
def turns_until(key)
  turns = 0
  until Resque.redis.exists?(key)
    turns += 1 if turn
    sleep 0.002
  end
  turns
end

# The same beside what the test goes on to ask.
def schedule_beside(settings = {})
  Thread.new { schedule(settings) }
  nil
end
