// Package upload gives runners the one commit that they are to build, by git's smart HTTP:
// read-only, from the mirror, with the job's token as password. This does not send the
// queue's commits to the forge.
//
//	git -c http.extraHeader=… fetch --depth 1 https://any:JOB-TOKEN@HOST/git/shop.git refs/submitqueue/job
//
//	GET  /git/shop.git/info/refs?service=git-upload-pack   401, then one ref: refs/submitqueue/job
//	POST /git/shop.git/git-upload-pack                     the commit; depth and filter as asked
//
// # What a token opens
//
// A grant is a commit and the folder of git's objects that has it. Git runs in a separate
// repository, which has only one ref to that commit, and borrows the mirror's objects. So
// nothing is written to the mirror, and no lock is taken that a landing would wait for. But
// git sees all objects of the mirror, so the wants of a client are checked before git is
// asked. A client may want the commit, or, for partial clones that fetch the rest as they
// need it, an object of the commit's own tree. All other wants are refused: commits of
// other jobs, hidden refs, and objects that no ref reaches. Protocol 2 names wants in other
// places, and accepts any; clients are answered in protocol 0, which all of them speak.
//
// The objects that a client claims to have only shorten the answer.
//
// # What a checkout holds beside the commit
//
// Where the job's step asks for submodules or files of Git LFS, the token opens these as well,
// as the mirror has them (mirror.Outside). The runner needs no credentials for them.
//
//	GET  /git/shop.git/submitqueue/outside       our own runner's list of both
//	git fetch …/git/shop.git/submodules/0.git    the first submodule: its one commit
//	git fetch …/git/lib.git                      the same, as git finds url = ../lib.git
//	POST /git/shop.git/info/lfs/objects/batch    what git-lfs asks: contents of this commit's pointers only
//	GET  /git/shop.git/info/lfs/objects/OID
//
// # Bounds
//
// At most Options.AtOnce uploads run at once, each for at most Options.Limit. An upload
// ends when its client hangs up, or its token ends.
package upload
