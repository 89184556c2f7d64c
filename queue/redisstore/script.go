package redisstore

import "github.com/redis/go-redis/v9"

// The scripts. Each checks everything before its first write, because Redis
// does not undo what a failing script has written. They name all their keys, so
// that they run on a cluster. Their answers are below.
const (
	saidDone     = 1
	saidNotOwner = -1
	saidStale    = -2
)

// appendScript adds events that were not seen before.
// KEYS: inbox, then the seen key of each event ("" where it has no id).
// ARGV: how long ids are remembered (ms), then each event.
var appendScript = redis.NewScript(`
for i = 2, #ARGV do
  local seen = KEYS[i]
  if seen == KEYS[1] or redis.call('SET', seen, '1', 'NX', 'PX', ARGV[1]) then
    redis.call('XADD', KEYS[1], '*', 'e', ARGV[i])
  end
end
return 1`)

// acquireScript gives or extends a lease.
// KEYS: lease, fence. ARGV: owner, ttl (ms). Returns the token, or -1.
//
// Tokens are at least the server's clock in milliseconds, so that they grow even
// across a Redis that was emptied.
var acquireScript = redis.NewScript(`
local lease = redis.call('HMGET', KEYS[1], 'owner', 'token')
if lease[1] and lease[1] ~= ARGV[1] then
  return '-1'
end
local token = lease[2]
if not token then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local last = tonumber(redis.call('GET', KEYS[2]) or '0')
  if last < now then
    last = now
  end
  token = string.format('%.0f', last + 1)
  redis.call('SET', KEYS[2], token)
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'token', token)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return token`)

// releaseScript ends a lease and makes its token stale.
// KEYS: lease, fence. ARGV: token.
var releaseScript = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('INCR', KEYS[2])
end
return 1`)

// keepRows is a function of two scripts: it adds count rows, two arguments each from place
// at on (the row and its moment in ms), to the stream, and drops rows from its beginning
// while a bound is passed: of age (ms), rows and bytes, in three arguments from place
// bounds on. It drops a bounded number of rows, more than it adds. It returns the place
// behind the rows.
const keepRows = `
local function keep(stream, bytes, at, count, bounds)
  if count == 0 then
    return at
  end
  local size = 0
  for _ = 1, count do
    redis.call('XADD', stream, '*', 'r', ARGV[at], 'at', ARGV[at + 1])
    size = size + #ARGV[at]
    at = at + 2
  end
  size = redis.call('INCRBY', bytes, size)
  local clock = redis.call('TIME')
  local oldest = clock[1] * 1000 + math.floor(clock[2] / 1000) - tonumber(ARGV[bounds])
  local rows, most, mostBytes = redis.call('XLEN', stream), tonumber(ARGV[bounds + 1]), tonumber(ARGV[bounds + 2])
  local left, batch, freed, gone = count + 100, 1, 0, 0
  while left > 0 do
    local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', batch)
    left, batch = #first > 0 and left - #first or 0, 20
    for _, entry in ipairs(first) do
      if tonumber(entry[2][4]) >= oldest and rows - gone <= most and size - freed <= mostBytes then
        left = 0
        break
      end
      redis.call('XDEL', stream, entry[1])
      freed = freed + #entry[2][2]
      gone = gone + 1
    end
  end
  if gone > 0 then
    redis.call('DECRBY', bytes, freed)
  end
  return at
end
`

// keepScript adds rows to the event archive outside of turns.
// KEYS: past, its bytes. ARGV: age (ms), rows and bytes kept, then (row, moment) per row.
var keepScript = redis.NewScript(keepRows + `
keep(KEYS[1], KEYS[2], 4, (#ARGV - 3) / 2, 1)
return 1`)

// commitScript writes one turn.
// KEYS: fence, version, inbox, history, the archive's index and kept, the event archive
// (past) and its bytes, the hash of each kind, then the archive key of each archived entry.
// ARGV: token, version, next version, notes kept, archive ttl (ms), expired ids
// taken out of the index beside one for each that is added; then the counts of
// puts, deletes, eaten events, notes, archived entries and rows; the age (ms), rows and
// bytes of the event archive that are kept; then (key, id, data) per put, (key, id) per
// delete, one value per event and note, (row, moment) per row, and (name by id, name by
// target, data) per archived entry, where key is a place in KEYS and an entry
// without data is taken out.
var commitScript = redis.NewScript(keepRows + `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return -1
end
if (redis.call('GET', KEYS[2]) or '0') ~= ARGV[2] then
  return -2
end
local puts, deletes, eaten, notes, archived =
  tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local at = 16
for _ = 1, puts do
  redis.call('HSET', KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2])
  at = at + 3
end
for _ = 1, deletes do
  redis.call('HDEL', KEYS[tonumber(ARGV[at])], ARGV[at + 1])
  at = at + 2
end
for _ = 1, eaten do
  redis.call('XDEL', KEYS[3], ARGV[at])
  at = at + 1
end
for _ = 1, notes do
  redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[4], '*', 'n', ARGV[at])
  at = at + 1
end
at = keep(KEYS[7], KEYS[8], at, tonumber(ARGV[12]), 13)
if archived > 0 then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local over = '(' .. string.format('%.0f', now - tonumber(ARGV[5]))
  local gone = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', over, 'LIMIT', 0, archived + tonumber(ARGV[6]))
  for _, name in ipairs(gone) do
    redis.call('ZREM', KEYS[5], name, 'i' .. string.sub(name, -64) .. string.sub(name, -80, -65))
    redis.call('ZREM', KEYS[6], name)
  end
  now = string.format('%.0f', now)
  local last = #KEYS - archived
  local index, kept = {}, {}
  for i = 1, archived do
    if ARGV[at + 2] == '' then
      redis.call('DEL', KEYS[last + i])
    else
      redis.call('SET', KEYS[last + i], ARGV[at + 2], 'PX', ARGV[5])
    end
    index[#index + 1], index[#index + 2], index[#index + 3], index[#index + 4] = '0', ARGV[at], '0', ARGV[at + 1]
    kept[#kept + 1], kept[#kept + 2] = now, ARGV[at + 1]
    if #kept == 1000 or i == archived then
      redis.call('ZADD', KEYS[5], unpack(index))
      redis.call('ZADD', KEYS[6], unpack(kept))
      index, kept = {}, {}
    end
    at = at + 3
  end
end
redis.call('SET', KEYS[2], ARGV[3])
return 1`)

// renewScript keeps passes that are still there for the archive's whole time.
// KEYS: index, kept, then the archive key of each pass.
// ARGV: archive ttl (ms), then (name by id, name by target) of each.
var renewScript = redis.NewScript(`
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))
for i = 3, #KEYS do
  local at = 2 * i - 4
  if redis.call('PEXPIRE', KEYS[i], ARGV[1]) == 1 then
    redis.call('ZADD', KEYS[1], '0', ARGV[at], '0', ARGV[at + 1])
    redis.call('ZADD', KEYS[2], now, ARGV[at + 1])
  end
end
return 1`)
