//! Which workspace a directory belongs to, on repositories made by the real git.
//!
//! git makes the fixtures and, in one place, is the control; the code under test must never run it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::{Sandbox, write};
use rstest::rstest;
use steward_filesystem::SystemFileSystem;
use steward_ports::{Exclusions, FileSystem, FileSystemError, FileText, Workspace, WorkspaceKind, WorkspaceRoot};

async fn resolve(directory: &Path) -> Workspace {
    SystemFileSystem.resolve_workspace(directory, None).await.unwrap()
}

fn repository(root: &Path, common_directory: &Path, worktree: Option<&str>) -> Workspace {
    Workspace {
        root: WorkspaceRoot::from_canonical(root.to_owned()),
        kind: WorkspaceKind::Repository {
            common_directory: common_directory.to_owned(),
            worktree: worktree.map(str::to_owned),
        },
    }
}

fn of_kind(root: &Path, kind: WorkspaceKind) -> Workspace {
    Workspace { root: WorkspaceRoot::from_canonical(root.to_owned()), kind }
}

#[tokio::test]
async fn a_checkout_is_known_from_any_directory_in_it() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    fs::create_dir_all(main.join("src/deep")).unwrap();

    let expected = repository(&main, &main.join(".git"), None);

    assert_eq!(resolve(&main).await, expected);
    assert_eq!(resolve(&main.join("src/deep")).await, expected);
}

#[tokio::test]
async fn trial_b66_a_subdirectory_of_a_worktree_has_the_worktrees_identity() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["worktree", "add", "../wt", "-b", "feature"]);
    let worktree = sandbox.path("wt");
    fs::create_dir_all(worktree.join("src/deep")).unwrap();

    let expected = repository(&worktree, &main.join(".git"), Some("wt"));

    assert_eq!(resolve(&worktree).await, expected);
    assert_eq!(resolve(&worktree.join("src/deep")).await, expected);
}

#[tokio::test]
async fn trial_b60_a_worktree_inside_the_main_checkout_is_itself() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["worktree", "add", ".claude/worktrees/x"]);
    let worktree = main.join(".claude/worktrees/x");

    assert_eq!(resolve(&worktree).await, repository(&worktree, &main.join(".git"), Some("x")));
    assert_eq!(resolve(&main.join(".claude")).await, repository(&main, &main.join(".git"), None));
}

#[tokio::test]
async fn trial_b63_checkouts_of_one_name_are_told_apart() {
    let sandbox = Sandbox::new();
    let first = sandbox.repository("one/app");
    let second = sandbox.repository("two/app");
    sandbox.git(&first, &["worktree", "add", "../../three/app"]);
    let third = sandbox.path("three/app");

    let found = [resolve(&first).await, resolve(&second).await, resolve(&third).await];

    assert_eq!(found[2], repository(&third, &first.join(".git"), Some("app")));
    assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
}

#[tokio::test]
async fn a_bare_repository_has_worktrees_and_is_none() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["clone", "--bare", ".", "../project/.bare"]);
    let project = sandbox.path("project");
    write(&project.join(".git"), "gitdir: ./.bare\n");
    sandbox.git(&project, &["worktree", "add", "feature"]);

    assert_eq!(
        resolve(&project.join("feature")).await,
        repository(&project.join("feature"), &project.join(".bare"), Some("feature"))
    );
    assert_eq!(resolve(&project).await, of_kind(&project, WorkspaceKind::Plain));
}

#[tokio::test]
async fn a_submodule_and_its_worktrees_are_repositories_of_their_own() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library");
    let main = sandbox.repository("main");
    let url = library.to_str().unwrap();
    sandbox.git(&main, &["-c", "protocol.file.allow=always", "submodule", "add", url, "sub"]);
    let submodule = main.join("sub");
    sandbox.git(&submodule, &["worktree", "add", "../../sub-wt"]);
    let worktree = sandbox.path("sub-wt");
    let common = main.join(".git/modules/sub");

    assert_eq!(resolve(&submodule).await, repository(&submodule, &common, None));
    assert_eq!(resolve(&worktree).await, repository(&worktree, &common, Some("sub-wt")));
}

#[tokio::test]
async fn a_git_directory_may_lie_elsewhere() {
    let sandbox = Sandbox::new();
    let checkout = sandbox.path("checkout");
    let store = sandbox.path("store");
    sandbox.git(&sandbox.path(""), &["init", "--separate-git-dir", "store", "checkout"]);

    assert_eq!(resolve(&checkout).await, repository(&checkout, &store, None));
}

/// git 2.48 writes relative pointers where it is asked to.
#[tokio::test]
async fn pointers_may_be_relative() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["worktree", "add", "../wt"]);
    let worktree = sandbox.path("wt");
    write(&worktree.join(".git"), "gitdir: ../main/.git/worktrees/wt\n");
    write(&main.join(".git/worktrees/wt/gitdir"), "../../../../wt/.git\n");

    assert_eq!(resolve(&worktree).await, repository(&worktree, &main.join(".git"), Some("wt")));
}

#[tokio::test]
async fn a_nested_repository_is_its_own_workspace() {
    let sandbox = Sandbox::new();
    sandbox.repository("main");
    let inner = sandbox.repository("main/vendor/inner");

    assert_eq!(resolve(&inner).await, repository(&inner, &inner.join(".git"), None));
}

#[tokio::test]
async fn an_empty_git_directory_is_no_repository() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    fs::create_dir_all(main.join("sub/.git")).unwrap();

    assert_eq!(resolve(&main.join("sub")).await, repository(&main, &main.join(".git"), None));
}

#[tokio::test]
async fn trial_b102_every_way_to_write_a_directory_is_one_workspace() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    let link = sandbox.path("link");
    symlink(&main, &link).unwrap();

    let expected = repository(&main, &main.join(".git"), None);

    for way in [link.clone(), main.join("."), main.join(".git/.."), link.join(""), link.join("../main")] {
        assert_eq!(resolve(&way).await, expected, "{}", way.display());
    }
}

#[tokio::test]
async fn a_copied_pointer_is_not_taken_for_the_worktree() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["worktree", "add", "../wt"]);
    let forged = sandbox.path("forged");
    let linked = sandbox.path("linked");
    fs::create_dir_all(&forged).unwrap();
    fs::create_dir_all(&linked).unwrap();
    fs::copy(sandbox.path("wt/.git"), forged.join(".git")).unwrap();
    // The very same file under another name is no proof either.
    fs::hard_link(sandbox.path("wt/.git"), linked.join(".git")).unwrap();

    for place in [forged, linked] {
        assert_eq!(resolve(&place).await, repository(&place, &place.join(".git"), None));
    }
}

#[tokio::test]
async fn a_moved_or_pruned_worktree_proves_nothing_until_git_repairs_it() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    sandbox.git(&main, &["worktree", "add", "../wt"]);
    let moved = sandbox.path("moved");
    fs::rename(sandbox.path("wt"), &moved).unwrap();

    let unproved = repository(&moved, &moved.join(".git"), None);
    assert_eq!(resolve(&moved).await, unproved);

    sandbox.git(&moved, &["worktree", "repair"]);
    assert_eq!(resolve(&moved).await, repository(&moved, &main.join(".git"), Some("wt")));

    fs::remove_dir_all(main.join(".git/worktrees/wt")).unwrap();
    assert_eq!(resolve(&moved).await, unproved);
}

#[rstest]
#[case::elsewhere(b"gitdir: /etc".to_vec())]
#[case::nowhere(b"gitdir: /nonexistent/place\n".to_vec())]
#[case::upwards(b"gitdir: ../../..\n".to_vec())]
#[case::endless([b"gitdir: ".to_vec(), vec![b'a'; 10 << 20]].concat())]
#[case::nul_bytes(b"gitdir: /tmp\0/x".to_vec())]
#[case::two_lines(b"gitdir: /tmp\n/x\n".to_vec())]
#[case::another_word(b"worktree: /tmp".to_vec())]
#[case::empty(Vec::new())]
#[case::control_characters(b"gitdir: \x1b[2J".to_vec())]
#[tokio::test]
async fn trial_b132_a_senseless_git_file_makes_a_top_level_without_a_worktree(#[case] content: Vec<u8>) {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    fs::create_dir_all(place.join("sub")).unwrap();
    fs::write(place.join(".git"), content).unwrap();

    assert_eq!(resolve(&place.join("sub")).await, repository(&place, &place.join(".git"), None));
}

#[tokio::test]
async fn trial_b132_a_pipe_in_the_place_of_a_git_file_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    fs::create_dir_all(&place).unwrap();
    nix::unistd::mkfifo(&place.join(".git"), nix::sys::stat::Mode::S_IRWXU).unwrap();

    assert_eq!(resolve(&place).await, repository(&place, &place.join(".git"), None));
}

#[tokio::test]
async fn trial_b09_a_directory_outside_a_repository_is_plain_whatever_lies_above_it() {
    let sandbox = Sandbox::new();
    let home = sandbox.path("home");
    fs::create_dir_all(home.join(".codegraphcontext/global/db")).unwrap();
    fs::create_dir_all(home.join("notes")).unwrap();

    let found = SystemFileSystem.resolve_workspace(&home.join("notes"), Some(&home)).await.unwrap();

    assert_eq!(found, of_kind(&home.join("notes"), WorkspaceKind::Plain));
}

#[rstest]
#[case::home("home")]
#[case::through_a_link("link")]
#[case::what_contains_home("")]
#[tokio::test]
async fn trial_b114_home_and_what_contains_it_are_forbidden(#[case] directory: &str) {
    let sandbox = Sandbox::new();
    let home = sandbox.path("home");
    fs::create_dir_all(&home).unwrap();
    symlink(&home, sandbox.path("link")).unwrap();
    let directory = sandbox.path(directory);

    let found = SystemFileSystem.resolve_workspace(&directory, Some(&home)).await.unwrap();

    assert_eq!(found, of_kind(&directory.canonicalize().unwrap(), WorkspaceKind::Forbidden));
}

#[tokio::test]
async fn trial_b114_the_root_of_the_file_system_is_forbidden() {
    let found = resolve(Path::new("/")).await;

    assert_eq!(found, of_kind(Path::new("/"), WorkspaceKind::Forbidden));
}

#[tokio::test]
async fn a_home_that_is_a_repository_stays_forbidden_and_repositories_below_it_are_not() {
    let sandbox = Sandbox::new();
    let home = sandbox.repository("home");
    let project = sandbox.repository("home/project");

    let at_home = SystemFileSystem.resolve_workspace(&home, Some(&home)).await.unwrap();
    let in_project = SystemFileSystem.resolve_workspace(&project, Some(&home)).await.unwrap();

    assert_eq!(at_home, of_kind(&home, WorkspaceKind::Forbidden));
    assert_eq!(in_project, repository(&project, &project.join(".git"), None));
}

#[tokio::test]
async fn trial_b69_a_directory_that_is_gone_is_said_to_be_gone() {
    let sandbox = Sandbox::new();
    let gone = sandbox.path("gone");

    let error = SystemFileSystem.resolve_workspace(&gone, None).await.unwrap_err();
    let scan = SystemFileSystem.scan(&gone, &Exclusions::default(), None).await.unwrap_err();

    assert!(matches!(error, FileSystemError::Vanished { path } if path == gone));
    assert!(matches!(scan, FileSystemError::Vanished { path } if path == gone));
}

#[rstest]
#[case::relative("src")]
#[case::a_file("/proc/self/stat")]
#[tokio::test]
async fn a_path_that_is_no_absolute_directory_is_refused(#[case] path: PathBuf) {
    let error = SystemFileSystem.resolve_workspace(&path, None).await.unwrap_err();

    assert!(matches!(error, FileSystemError::Unusable { .. }), "{error:?}");
}

#[tokio::test]
async fn trial_b130_nothing_that_a_repository_names_is_run() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    let mark = sandbox.path("mark");
    let command = format!("touch {}", mark.display());
    for key in ["core.fsmonitor", "core.sshCommand", "diff.external", "filter.x.clean"] {
        sandbox.git(&main, &["config", key, &command]);
    }

    resolve(&main).await;
    let baseline = SystemFileSystem.scan(&main, &Exclusions::default(), None).await.unwrap();
    SystemFileSystem.compare(&main, &Exclusions::default(), &baseline).await.unwrap();
    SystemFileSystem.head(&main).await.unwrap();

    assert!(!mark.exists());
    sandbox.git(&main, &["status"]);
    assert!(mark.exists(), "the control: git itself does run it");
}

#[tokio::test]
async fn head_names_the_commit_however_it_is_stored() {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    let commit = sandbox.output(&main, &["rev-parse", "HEAD"]);
    let head = async |directory: &Path| SystemFileSystem.head(directory).await.unwrap();

    assert_eq!(head(&main).await, Some(commit.clone()), "a loose branch");
    sandbox.git(&main, &["pack-refs", "--all"]);
    assert_eq!(head(&main).await, Some(commit.clone()), "a packed branch");
    sandbox.git(&main, &["checkout", "--detach"]);
    assert_eq!(head(&main).await, Some(commit.clone()), "detached");

    sandbox.git(&main, &["worktree", "add", "../wt", "-b", "feature"]);
    let worktree = sandbox.path("wt");
    sandbox.git(&worktree, &["commit", "--allow-empty", "-m", "next"]);
    let next = sandbox.output(&worktree, &["rev-parse", "HEAD"]);
    assert_ne!(next, commit);
    assert_eq!(head(&worktree).await, Some(next), "a worktree has a HEAD of its own");
    assert_eq!(head(&main).await, Some(commit));
}

#[rstest]
#[case::sha256(&["--object-format=sha256"], true)]
#[case::reftable(&["--ref-format=reftable"], false)]
#[tokio::test]
async fn head_is_read_from_files_or_not_known(#[case] options: &[&str], #[case] is_known: bool) {
    let sandbox = Sandbox::new();
    let main = sandbox.path("main");
    sandbox.git(&sandbox.path(""), &[&["init"], options, &["main"]].concat());
    sandbox.git(&main, &["commit", "--allow-empty", "-m", "first"]);
    let commit = sandbox.output(&main, &["rev-parse", "HEAD"]);

    let head = SystemFileSystem.head(&main).await.unwrap();

    assert_eq!(head, is_known.then_some(commit));
    assert_eq!(resolve(&main).await, repository(&main, &main.join(".git"), None));
}

#[rstest]
#[case::unborn("ref: refs/heads/none\n")]
#[case::circular("ref: refs/heads/circle\n")]
#[case::outside("ref: refs/../../secret\n")]
#[case::absolute("ref: /etc/passwd\n")]
#[case::garbage("0123456789\n")]
#[case::empty("")]
#[tokio::test]
async fn a_head_that_names_no_commit_has_none(#[case] content: &str) {
    let sandbox = Sandbox::new();
    let main = sandbox.repository("main");
    write(&main.join("secret"), &"a".repeat(40));
    write(&main.join(".git/refs/heads/circle"), "ref: refs/heads/circle\n");
    write(&main.join(".git/HEAD"), content);

    assert_eq!(SystemFileSystem.head(&main).await.unwrap(), None);
}

#[tokio::test]
async fn text_is_read_within_its_limit_and_loses_only_its_byte_order_mark() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("config.toml");
    write(&path, "\u{feff}key = 1\n");

    let text = SystemFileSystem.read_text(&path, 64).await.unwrap();
    let absent = SystemFileSystem.read_text(&sandbox.path("none"), 64).await.unwrap();
    let too_large = SystemFileSystem.read_text(&path, 4).await.unwrap_err();
    fs::write(&path, b"caf\xe9").unwrap();
    let no_text = SystemFileSystem.read_text(&path, 64).await.unwrap_err();

    assert_eq!(text, FileText::Text("key = 1\n".to_owned()));
    assert_eq!(absent, FileText::Absent);
    assert!(matches!(too_large, FileSystemError::Unusable { .. }));
    assert!(matches!(no_text, FileSystemError::Unusable { .. }));
}
