/** What a backup contains of a data directory. Source: docs/operations.md, What a backup contains. */

/** The store; in a restore it is the last file to get its place. */
export const STORE = 'parley.db'
/** Folder of the runner. */
export const RUNNER = 'runner'

/**
 * Records of the runner. They are copied before the store: the runner forgets the result of a call only after the store has it,
 * so what is missing in the copied ledger is in the copied store, or its outcome is unknown. Each protocol has files of its own.
 */
const CALLS = /^runner\/(ledger(-p\d+)?\.ndjson|out(-p\d+)?(\/.*)?)$/

/** Folders that the log refers to. They are copied after the store, so that what a stored event names exists. */
const FOLDERS = /^(prompts|scripts|plugins|callbacks|conversations)(\/|$)/
/** Outputs of sandboxed commands that observations name. */
const KEPT = /^runner(\/boxes(\/[^/]+(\/kept(\/.*)?)?)?)?$/

/** Files that agents and users own: working directories, folders of users, and the folders of external agents, which may contain their logins. */
const WORKSPACES = /^(workspaces|worktrees|users)(\/|$)/
const ACP = /^conversations\/[^/]+\/acp(\/|$)|^runner\/boxes\/[^/]+\/home(\/acp(\/.*)?)?$/

/** Entries of a data directory that are copied after the store, as far as `isContent` accepts what they contain. */
export const CONTENT = [
  'prompts',
  'scripts',
  'plugins',
  'callbacks',
  'conversations',
  RUNNER,
  'workspaces',
  'worktrees',
  'users',
]

/** True for a path that is copied before the store. */
export const isCallRecord = (path: string): boolean => path === RUNNER || CALLS.test(path)

/** True for a path that is copied after the store. */
export function isContent(path: string, withWorkspaces: boolean): boolean {
  if (WORKSPACES.test(path) || ACP.test(path)) return withWorkspaces
  return FOLDERS.test(path) || KEPT.test(path)
}

/** True for a path that a backup may contain. */
export const isKnownPath = (path: string): boolean => path === STORE || isCallRecord(path) || isContent(path, true)
