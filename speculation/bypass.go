package speculation

// Of futures beyond the likeliest.
const ()
