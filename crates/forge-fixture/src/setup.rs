//! How a test sets a scripted forge up, plays the people who use it, and looks at its state.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::delivery::{self, ScriptedDelivery, ScriptedForgeEvent};
use crate::exchange::RecordedForgeRequest;
use crate::fault::ScriptedFault;
use crate::listener::ForgeListener;
use crate::world::{
    ForgeWorld, IssueRow, RepositoryRow, ReviewCommentRow, ReviewRow, ScriptedComment,
    ScriptedForgeApi, ScriptedItem, ScriptedPermission, ScriptedPullRequest, ScriptedPullState,
    ScriptedReviewState, ScriptedStatusState, StatusRow, TokenRow, TokenScope, UserRow,
};

/// A running forge. Dropping it closes its port and every connection.
#[derive(Debug)]
pub struct ScriptedForge {
    world: Arc<Mutex<ForgeWorld>>,
    listener: ForgeListener,
}

/// A commit id of one repeated hexadecimal digit.
pub fn commit_id(digit: char) -> String {
    digit.to_string().repeat(40)
}

impl ScriptedForge {
    /// Starts an empty forge at a free port of loopback.
    pub fn start(api: ScriptedForgeApi) -> Self {
        let world = Arc::new(Mutex::new(ForgeWorld::new(api)));
        let listener = ForgeListener::start(Arc::clone(&world));
        let forge = Self { world, listener };
        forge.lock().base_url = forge.base_url();
        forge
    }

    fn lock(&self) -> MutexGuard<'_, ForgeWorld> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address
    }

    /// The URL of the web pages; the API is below it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.listener.address)
    }

    /// Adds a user with a token that may do everything the user may.
    pub fn add_user(&self, login: &str, token: &str) {
        let mut world = self.lock();
        let id = world.generate_id();
        world.users.insert(login.to_owned(), UserRow { id, login: login.to_owned() });
        let row = TokenRow { login: login.to_owned(), scope: TokenScope::Full };
        world.tokens.insert(token.to_owned(), row);
    }

    pub fn set_token_scope(&self, token: &str, scope: TokenScope) {
        if let Some(row) = self.lock().tokens.get_mut(token) {
            row.scope = scope;
        }
    }

    /// Removes an account; its texts stay.
    pub fn delete_user(&self, login: &str) {
        self.lock().users.remove(login);
    }

    /// Adds a private repository that `admin` administers.
    pub fn add_repository(&self, path: &str, admin: &str) {
        let mut world = self.lock();
        let id = world.generate_id();
        let mut row = RepositoryRow { id, path: path.to_owned(), ..RepositoryRow::default() };
        row.permissions.insert(admin.to_owned(), ScriptedPermission::Admin);
        world.repositories.insert(path.to_owned(), row);
    }

    pub fn set_permission(&self, path: &str, login: &str, permission: ScriptedPermission) {
        self.change(path, |row, _| {
            row.permissions.insert(login.to_owned(), permission);
        });
    }

    /// GitHub: whether the plan of the repositories has drafts.
    pub fn set_drafts(&self, has_drafts: bool) {
        self.lock().has_drafts = has_drafts;
    }

    /// Pushes a branch whose newest commit is one repeated digit.
    pub fn push_branch(&self, path: &str, branch: &str, digit: char) {
        self.push_commit(path, branch, &commit_id(digit));
    }

    /// Pushes a branch; its open pull requests get the new head commit.
    pub fn push_commit(&self, path: &str, branch: &str, commit: &str) {
        self.change(path, |row, _| {
            row.branches.insert(branch.to_owned(), commit.to_owned());
            for pull in row.pulls.values_mut() {
                if pull.head == branch && pull.state == ScriptedPullState::Open {
                    commit.clone_into(&mut pull.head_commit);
                }
            }
        });
    }

    pub fn add_issue(&self, path: &str, author: &str, title: &str, body: &str) -> u64 {
        let number = self.lock().next_number(path, false);
        self.change(path, |row, _| {
            let issue = IssueRow {
                title: title.to_owned(),
                body: body.to_owned(),
                author: author.to_owned(),
                is_open: true,
                labels: vec!["bug".to_owned()],
            };
            row.issues.insert(number, issue);
        });
        number
    }

    /// Replaces the labels of an issue, if there is such an issue.
    pub fn set_labels(&self, path: &str, number: u64, labels: &[&str]) {
        self.change(path, |row, _| {
            if let Some(issue) = row.issues.get_mut(&number) {
                issue.labels = labels.iter().map(|label| (*label).to_owned()).collect();
            }
        });
    }

    /// Adds a comment of a person to a conversation.
    pub fn add_comment(&self, path: &str, item: ScriptedItem, author: &str, body: &str) -> u64 {
        self.change(path, |row, id| {
            let comment = ScriptedComment {
                id,
                author: author.to_owned(),
                body: body.to_owned(),
                is_system: false,
            };
            let (comments, number) = match item {
                ScriptedItem::Issue(number) => (&mut row.issue_comments, number),
                ScriptedItem::Pull(number) => (&mut row.pull_comments, number),
            };
            comments.entry(number).or_default().push(comment);
            id
        })
    }

    /// Opens a pull request of a person, also a second one of the same branches if `fork` names another repository.
    pub fn add_pull_request(
        &self,
        path: &str,
        author: &str,
        head: &str,
        fork: Option<&str>,
    ) -> u64 {
        let number = self.lock().next_number(path, true);
        self.change(path, |row, id| {
            let head_commit = row.branches.get(head).cloned().unwrap_or_else(|| commit_id('e'));
            let pull = ScriptedPullRequest {
                id,
                number,
                title: format!("Change {head}"),
                body: String::new(),
                author: author.to_owned(),
                head: head.to_owned(),
                fork: fork.map(str::to_owned),
                base: "main".to_owned(),
                head_commit,
                is_draft: false,
                state: ScriptedPullState::Open,
                mergeable: Some(true),
            };
            row.pulls.insert(number, pull);
        });
        number
    }

    pub fn set_pull_state(&self, path: &str, number: u64, state: ScriptedPullState) {
        self.change_pull(path, number, |pull| pull.state = state);
    }

    /// `None` while the forge computes it.
    pub fn set_mergeable(&self, path: &str, number: u64, mergeable: Option<bool>) {
        self.change_pull(path, number, |pull| pull.mergeable = mergeable);
    }

    /// Submits a review with a comment on line 7 of each path; returns its id and those of the comments.
    pub fn add_review(
        &self,
        path: &str,
        number: u64,
        author: &str,
        state: ScriptedReviewState,
        comments: &[(&str, &str)],
    ) -> (u64, Vec<u64>) {
        let ids: Vec<u64> = comments.iter().map(|_| self.lock().generate_id()).collect();
        let review = self.change(path, |row, id| {
            let comment = |(comment, (file, body)): (&u64, &(&str, &str))| ReviewCommentRow {
                id: *comment,
                author: author.to_owned(),
                path: (*file).to_owned(),
                line: 7,
                body: (*body).to_owned(),
            };
            row.reviews.entry(number).or_default().push(ReviewRow {
                id,
                author: author.to_owned(),
                state,
                body: "the review".to_owned(),
                comments: ids.iter().zip(comments).map(comment).collect(),
            });
            id
        });
        (review, ids)
    }

    /// Reports a commit status (GitLab: of an external service; GitHub also a check run).
    pub fn set_status(&self, path: &str, digit: char, name: &str, state: ScriptedStatusState) {
        self.report(path, &commit_id(digit), name, state, false);
    }

    /// Reports the status of any commit.
    pub fn set_commit_status(
        &self,
        path: &str,
        commit: &str,
        name: &str,
        state: ScriptedStatusState,
    ) {
        self.report(path, commit, name, state, false);
    }

    /// GitHub: reports a check run; elsewhere a status.
    pub fn set_check_run(&self, path: &str, digit: char, name: &str, state: ScriptedStatusState) {
        self.report(path, &commit_id(digit), name, state, true);
    }

    fn report(
        &self,
        path: &str,
        commit: &str,
        name: &str,
        state: ScriptedStatusState,
        is_check_run: bool,
    ) {
        self.change(path, |row, id| {
            let (commit, name) = (commit.to_owned(), name.to_owned());
            row.statuses.push(StatusRow { id, commit, name, state, is_check_run });
        });
    }

    pub fn fail(&self, fault: ScriptedFault) {
        self.lock().faults.push(fault);
    }

    /// Removes all faults.
    pub fn recover(&self) {
        self.lock().faults.clear();
    }

    /// Every request so far, those with faults too.
    pub fn requests(&self) -> Vec<RecordedForgeRequest> {
        self.lock().requests.clone()
    }

    pub fn pull_requests(&self, path: &str) -> Vec<ScriptedPullRequest> {
        let world = self.lock();
        let row = world.repositories.get(path);
        row.map(|row| row.pulls.values().cloned().collect()).unwrap_or_default()
    }

    pub fn comments(&self, path: &str, item: ScriptedItem) -> Vec<ScriptedComment> {
        let world = self.lock();
        let Some(row) = world.repositories.get(path) else { return vec![] };
        let comments = match item {
            ScriptedItem::Issue(number) => row.issue_comments.get(&number),
            ScriptedItem::Pull(number) => row.pull_comments.get(&number),
        };
        comments.cloned().unwrap_or_default()
    }

    /// The delivery of a webhook, signed as this forge does.
    pub fn delivery(&self, event: &ScriptedForgeEvent, secret: &str) -> ScriptedDelivery {
        let id = self.lock().generate_id();
        delivery::build(&self.lock(), event, secret, id)
    }

    fn change_pull(&self, path: &str, number: u64, change: impl FnOnce(&mut ScriptedPullRequest)) {
        self.change(path, |row, _| {
            let Some(pull) = row.pulls.get_mut(&number) else {
                panic!("no pull request {number} in {path}");
            };
            change(pull);
        });
    }

    fn change<R>(&self, path: &str, change: impl FnOnce(&mut RepositoryRow, u64) -> R) -> R {
        let mut world = self.lock();
        let id = world.generate_id();
        let Some(row) = world.repositories.get_mut(path) else { panic!("no repository {path}") };
        change(row, id)
    }
}
