package redisstore

import "github.com/redis/go-redis/v9"

// Client returns the store's own client, for tests that look behind it.
func (s *Store) Client() redis.UniversalClient { return s.client }

// DurabilityOf is what Durability says of a configuration.
var DurabilityOf = durabilityOf
