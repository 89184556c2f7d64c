package speculation

// Quotas cap the builds that run at one time. A build for which its quota has
// no place left waits; nothing is parked or rejected for that. A quota that
// binds while others wait lets it have a slot that is left when everybody else
// has been served, and what then runs is not stopped for others. Because each
// quota has at least one place, and the first build that waits for it and assumes
// nothing has its places in other quotas kept meanwhile, each change gets its
// turn. Builds of main and of what is about to land are counted
// and never wait: all others wait for them.
