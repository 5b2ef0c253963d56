export type * from './workspace.ts'
export { openLocalWorkspaces, type LocalWorkspacesOptions } from './local-workspaces.ts'
export { clone, CLONE_DEPTH, lookAtRemote, takeBranch, type Identity } from './repository/clone.ts'
export { fetchFolder } from './repository/fetch-folder.ts'
export { GitFailure, type GitFailureCode } from './repository/failure.ts'
export { findRemote, GIT_HOSTS, gitHostOf, type GitHost, type GitHosts, type GitToken } from './repository/remote.ts'
export { isTrusted, setUpRepository } from './repository/setup.ts'
export { findBubblewrap } from './runner/sandbox.ts'
export { probeTerminal } from './preflight.ts'
export { describeIsolation, describeNetwork, lookAtIsolation, type Isolation, type SandboxPolicy } from './isolation.ts'
export { openBash, type Bash } from './bash/bash.ts'
export { openArchive, type Archive, type ArchiveFacts, type ArchiveRequest } from './archive.ts'
export { changesOf, changesSince, fileDiff, newestCommits } from './git/queries.ts'
export { hasChanges } from './git/has-changes.ts'
export { makeWorktree, placeOfWorktree, type Worktree } from './git/worktree.ts'
export {
  confinedFile,
  lookAtHome,
  makeDirectory,
  openFile,
  pageOfSubdirectories,
  receiveFile,
  type OpenFile,
} from './host-files.ts'
export { openHosts, type Hosts } from './hosts.ts'
export { openCompletions, type CallbackTarget, type Completions } from './callback.ts'
export { openEveryWorkspace, type EveryWorkspacesOptions } from './remote/remote-workspaces.ts'
