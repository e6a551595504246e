//! `mockall` mocks of every port, for tests that assert on a single call.
//!
//! They must never be used to describe behaviour; the strict fakes do.

#![expect(clippy::ref_option_ref, reason = "the macro writes its predicates over references to the arguments")]

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use mockall::mock;
use steward_ports::{
    Answer, Clock, CommandSpec, Comparison, Consent, ConsentError, ContextInjector, DatabaseIdentity, Ended,
    Exclusions, FileKind, FileSystem, FileSystemError, FileText, GraphFacts, GraphQuery, GraphTarget, GraphTool,
    GraphToolError, GroupId, InjectError, Intent, LockProbe, LockProbeError, LockState, Manifest, ManifestDigest,
    Milestone, Notice, Notifier, NotifyError, OutputLine, ProcessEvent, ProcessIdentity, ProcessWatch,
    ProcessWatchError, Question, Receipt, Record, Runner, RunnerError, SessionId, Stop, Store, StoreError, Tick,
    Timestamp, Verb, Verdict, Workspace, WorkspaceRoot,
};

mock! {
    pub Runner {}

    #[async_trait]
    impl Runner for Runner {
        async fn spawn(&self, command: &CommandSpec) -> Result<GroupId, RunnerError>;
        async fn next(&self, group: GroupId) -> Result<ProcessEvent, RunnerError>;
        async fn stop(&self, group: GroupId, stop: Stop) -> Result<(), RunnerError>;
        async fn sweep(&self) -> Result<usize, RunnerError>;
    }
}

mock! {
    pub FileSystem {}

    #[async_trait]
    impl FileSystem for FileSystem {
        async fn resolve_workspace<'a>(
            &self,
            directory: &Path,
            home: Option<&'a Path>,
        ) -> Result<Workspace, FileSystemError>;
        async fn read_text(&self, path: &Path, limit: u64) -> Result<FileText, FileSystemError>;
        async fn scan<'a>(
            &self,
            root: &Path,
            exclusions: &Exclusions,
            previous: Option<&'a Manifest>,
        ) -> Result<Manifest, FileSystemError>;
        async fn compare(
            &self,
            root: &Path,
            exclusions: &Exclusions,
            baseline: &Manifest,
        ) -> Result<Comparison, FileSystemError>;
        async fn head(&self, root: &Path) -> Result<Option<String>, FileSystemError>;
        fn kind_by_name(&self, path: &Path) -> Option<FileKind>;
        fn digest(&self, manifest: &Manifest) -> ManifestDigest;
    }
}

mock! {
    pub Clock {}

    #[async_trait]
    impl Clock for Clock {
        fn now(&self) -> Tick;
        fn wall(&self) -> Timestamp;
        async fn sleep_until(&self, deadline: Tick);
    }
}

mock! {
    pub Notifier {}

    #[async_trait]
    impl Notifier for Notifier {
        async fn notify(&self, session: &SessionId, notice: &Notice) -> Result<(), NotifyError>;
    }
}

mock! {
    pub ContextInjector {}

    #[async_trait]
    impl ContextInjector for ContextInjector {
        async fn inject(&self, session: &SessionId, text: &str) -> Result<(), InjectError>;
    }
}

mock! {
    pub Store {}

    #[async_trait]
    impl Store for Store {
        async fn load<'a>(
            &self,
            workspace: &WorkspaceRoot,
            database: Option<&'a Path>,
        ) -> Result<Record, StoreError>;
        async fn load_manifest(&self, workspace: &WorkspaceRoot) -> Result<Option<Manifest>, StoreError>;
        async fn record_intent(&self, workspace: &WorkspaceRoot, intent: &Intent) -> Result<(), StoreError>;
        async fn clear_intent(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError>;
        async fn save_receipt(&self, receipt: &Receipt, manifest: &Manifest) -> Result<(), StoreError>;
        async fn drop_receipt(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError>;
        async fn save_database(&self, database: &DatabaseIdentity) -> Result<(), StoreError>;
    }
}

mock! {
    pub LockProbe {}

    #[async_trait]
    impl LockProbe for LockProbe {
        async fn holder(&self, database: &Path) -> Result<LockState, LockProbeError>;
    }
}

mock! {
    pub Consent {}

    #[async_trait]
    impl Consent for Consent {
        async fn ask(&self, session: &SessionId, question: &Question) -> Result<Answer, ConsentError>;
    }
}

mock! {
    pub GraphTool {}

    #[async_trait]
    impl GraphTool for GraphTool {
        async fn inspect(&self, query: &GraphQuery) -> Result<GraphFacts, GraphToolError>;
        async fn database(&self, path: &Path) -> Result<Option<DatabaseIdentity>, GraphToolError>;
        async fn set_aside(&self, database: &Path) -> Result<PathBuf, GraphToolError>;
        fn command(&self, verb: Verb, target: &GraphTarget) -> CommandSpec;
        fn milestone(&self, verb: Verb, line: &OutputLine) -> Option<Milestone>;
        fn verdict(&self, verb: Verb, target: &GraphTarget, ended: &Ended, reached_ready: bool) -> Verdict;
    }
}

mock! {
    pub ProcessWatch {}

    #[async_trait]
    impl ProcessWatch for ProcessWatch {
        async fn identify(&self, pid: u32) -> Result<Option<ProcessIdentity>, ProcessWatchError>;
        async fn wait_ended(&self, process: &ProcessIdentity) -> Result<(), ProcessWatchError>;
    }
}
