// Package cargo analyzes Cargo workspaces straight from git objects: no
// checkout, no registry, no cargo command. It reads each Cargo.toml and
// Cargo.lock and the paths named in each Rust file, remembers read files by
// object id, and so takes milliseconds for the next tree.
//
// # Nodes
//
// Each package is two nodes:
//
//	lib:./dir   what dependents build: the library and programs, the build
//	            script and every file of the directory that those may read
//	name        the target: tests/, benches/, examples/ and texts, with the
//	            dev-dependencies; depends on lib:./dir
//
// so the edit of a test reaches no dependent, and a circle through
// dev-dependencies, which Cargo allows, is none here. Only the second can be
// verified. Its name is the one that `cargo test -p` takes, for packages in the
// workspace at the top of the repository, or else in the only one that is
// nearest to the top. Packages of all other workspaces, such as an excluded
// fuzz/, are named by their directory:
//
//	run: |
//	  for t in {targets}; do
//	    case $t in
//	      ./...) cargo test --locked --workspace ;;
//	      ./*)   cargo test --locked --manifest-path "$t/Cargo.toml" ;;
//	      *)     cargo test --locked -p "$t" ;;
//	    esac || exit 1
//	  done
//
// (`./...` stands for the whole tree, when it has no graph.) There is one cargo
// command for each package on purpose: several packages in one command share
// their features, and one may pass only because of a feature that another one
// has switched on.
//
// Further nodes, none of them targets:
//
//	ext:./dir:serde@1.0.2   a package of dir/Cargo.lock: version, source,
//	                        checksum, vendored files, its dependencies
//	lock:./dir              the rest of that file
//	workspace:./dir         profiles, patches and whatever else a workspace's
//	                        manifest says to all members
//
// # Worked example
//
//	Cargo.toml        [workspace] members = ["crates/*"]
//	crates/core       depends on serde
//	crates/web        depends on core; [dev-dependencies] insta
//	crates/cli        no dependencies
//
// An edit of crates/core/src/lib.rs changes lib:./crates/core, lib:./crates/web
// and the targets core and web; one of crates/core/tests/it.rs the target core.
// A commit that bumps serde in Cargo.lock affects core and web, one that bumps
// insta affects web, and the two do conflict, in web; a bump of a package that
// only cli uses conflicts with neither, though all three write one file. A
// commit that adds crates/new writes new and nothing else.
//
// # Inputs
//
//   - All platforms, features and optional dependencies count at once.
//   - A manifest is hashed by meaning: the parts that dependents build go to
//     lib:, dev-dependencies and test targets to the target alone. Its bytes
//     belong to the target, too. The bytes of a workspace's manifest have no
//     owner: its parts are in the hashes of the members that inherit them, and
//     a comment is in no hash.
//   - Cargo.lock is taken apart only if Cargo would write it so. Otherwise all
//     its bytes are in the hash of each member: `--locked` refuses such a file
//     for every package. Entries without a user are in it, too. A tree without
//     the file is legal; versions are in no hash then.
//   - A crate owns its directory without the crates in it, as build scripts and
//     macros may read all of it. A crate at the top of the repository or of a
//     workspace with members owns src, tests, benches, examples, templates,
//     migrations, locales, and modules beside its root files only; all other
//     files there follow `unowned`. If it has a build script, it depends on all
//     of these except hidden folders and texts for readers.
//   - A string in a Rust file that names a file or directory outside the crate,
//     or in its other half, as in include_str!("../../schema.sql"), #[path], or
//     a build script, makes that file or directory an input. So do
//     cargo:rerun-if-changed, paths after a placeholder, as in
//     format!("{}/../../proto", dir), the folder of a pattern, as in
//     glob("../../proto/*.proto"), literals that are joined to one that leads up, to the
//     parents of CARGO_MANIFEST_DIR or to a variable that .cargo/config.toml makes relative,
//     and interfaces and C files beside one that is named. A string that begins with tests, benches or
//     examples also makes test data beside the workspace's manifest an input.
//   - Toolchain files, .cargo/config.toml, the files that it names (include,
//     linkers and their scripts, runners) and the settings of clippy, rustfmt
//     and nextest are in every hash.
//   - A manifest under tests, testdata, fixtures, templates, vendor, target or a
//     hidden directory, or below a workspace that does not name it, is a plain
//     file unless a package depends on it by path.
//
// # Trees without a graph
//
// A manifest, lock file or Cargo configuration that cannot be read is an error
// for the whole graph that names file and line, as Cargo would refuse every
// package with it; so is a member without a manifest. A path dependency on
// nothing is an edge to a node that does not exist: the crate alone changes.
//
// # Undeclared inputs
//
// A procedural macro or build script can read any file of the tree by a path
// that it puts together at run time, and sqlx reads .sqlx beside the manifest of
// a workspace. Name such files in `barrier`, unless `unowned` is left as it is:
// then files that no crate owns are in every hash.
package cargo
