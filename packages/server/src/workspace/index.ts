export type * from './workspace.ts'
export { openCallNotes, type CallNotes, type OpenCallNotes } from './call-notes.ts'
export {
  openConversationFiles,
  sealedFile,
  type ConversationFiles,
  type OpenConversationFiles,
} from './conversation-files.ts'
export { openCallProof } from './call-proof.ts'
export { checkpointsIn, type Checkpoints } from './checkpoints/checkpoints.ts'
export type { CheckpointPlace } from './checkpoints/git.ts'
export { repositoriesMissing } from './checkpoints/limits.ts'
export type { CheckpointRepository, FileChange } from './checkpoints/repository.ts'
export type { Account } from './account/account.ts'
export { prepareDataDir } from './account/prepare.ts'
export { usableAccount, type UsableAccount } from './account/usable-account.ts'
export { openLocalWorkspaces } from './local-workspaces.ts'
export { clone, CLONE_DEPTH, inspectRemote, takeBranch, type Identity } from './repository/clone.ts'
export { fetchFolder } from './repository/fetch-folder.ts'
export { GitFailure } from './repository/failure.ts'
export { findRemote, gitHostOf, type GitHost, type GitHosts, type GitToken } from './repository/remote.ts'
export { isTrusted, setUpRepository } from './repository/setup.ts'
export { findBubblewrap } from './runner/sandbox/sandbox.ts'
export { findRefusedToolchain } from './runner/sandbox/view.ts'
export { probeTerminal } from './preflight.ts'
export {
  describeIsolation,
  describeNetwork,
  probeIsolation,
  probeProcessTracking,
  type Isolation,
  type SandboxPolicy,
} from './isolation.ts'
export { openBash, type Bash } from './bash/bash.ts'
export { browseFolder } from './browse/browse.ts'
export type { BrowsedFolder } from './browse/browsed-folder.ts'
export { openArchive } from './archive/archive.ts'
export type { ArchiveFacts } from './archive/facts.ts'
export { changesOf, changesSince, fileDiff, newestCommits } from './git/queries.ts'
export { patchOf } from './git/patch.ts'
export { hasChanges } from './git/has-changes.ts'
export { makeWorktree, placeOfWorktree } from './git/worktree.ts'
export {
  confinedFile,
  homeLocations,
  makeDirectory,
  openFile,
  pageOfSubdirectories,
  receiveFile,
  type OpenFile,
} from './host-files.ts'
export { openHosts, type Hosts } from './hosts.ts'
export { homesOfAccount } from './roots/host-places.ts'
export { RefusedPath } from './roots/refused-path.ts'
export { scriptsIn } from './scripts.ts'
export { openRoots, ownFolderIn, type ListedRoots, type Roots, type RootsOf } from './roots/roots.ts'
export { removeTree } from './removal/remove-tree.ts'
export { openWorkspaceRemoval, type WorkspaceRemoval } from './removal/workspace-removal.ts'
export { openCompletions, type CallbackTarget } from './callback.ts'
export { openEveryWorkspace } from './remote/remote-workspaces.ts'
