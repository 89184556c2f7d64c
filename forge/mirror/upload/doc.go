// Package upload gives runners the one commit that they are to build, by git's smart HTTP:
// read-only, from the mirror, with the job's token as password. Commits that the queue
// makes never reach the forge by it.
//
//	git -c http.extraHeader=… fetch --depth 1 https://any:JOB-TOKEN@HOST/git/shop.git refs/submitqueue/job
//
//	GET  /git/shop.git/info/refs?service=git-upload-pack   401, then one ref: refs/submitqueue/job
//	POST /git/shop.git/git-upload-pack                     the commit; depth and filter as asked
//
// # What a token opens
//
// A grant is a commit and the folder of git's objects that has it. Git runs in a repository
// of its own, which has nothing but one ref to that commit, and borrows the mirror's
// objects: nothing is written to the mirror, and no lock of it is taken, that a landing
// would wait for. That git sees all objects of the mirror, so what a client wants is
// checked before git is asked: the commit, or, for partial clones that fetch the rest as
// they need it, an object of the commit's own tree. Anything else is refused: commits of
// other jobs, hidden refs, and what no ref has. Protocol 2 names wants in other places, and
// takes any; clients are answered in protocol 0, which all of them speak.
//
// What a client claims to have only shortens what it is sent.
//
// # What a checkout holds beside the commit
//
// Where the job's step asks for submodules or files of Git LFS, the token opens these as well,
// as the mirror has them (mirror.Outside), whatever credentials they take: the runner has none.
//
//	GET  /git/shop.git/submitqueue/outside       our own runner's list of both
//	git fetch …/git/shop.git/submodules/0.git    the first submodule: its one commit
//	git fetch …/git/lib.git                      the same, as git finds url = ../lib.git
//	POST /git/shop.git/info/lfs/objects/batch    what git-lfs asks: contents of this commit's pointers only
//	GET  /git/shop.git/info/lfs/objects/OID
//
// # Bounds
//
// So many uploads run at once (Options.AtOnce), each for so long (Options.Limit). One ends
// with its client, and with its token.
package upload
