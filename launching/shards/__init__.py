"""What every way of starting shards shares: the plan, the process that runs one shard, following them to the end."""
