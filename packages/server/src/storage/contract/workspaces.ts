import type { ConversationId } from '@parley/protocol'

/** A directory that the server has created for a conversation, and which it may therefore remove. */
export type MadeWorkspace = {
  /** Absolute path. */
  root: string
  /** User of that conversation. */
  owner: string
  kind: 'folder' | 'worktree'
  /** Inode of the directory, in decimal digits. Another directory at this path was not made by the server. */
  inode: string
  /** Root of the repository of a worktree; null for a folder. */
  repository: string | null
}

/** The workspaces that the server has created, and the conversations that use them. */
export interface WorkspaceStore {
  /** Records a directory; replaces an earlier record of its path. */
  put(made: MadeWorkspace): Promise<void>
  /** The innermost recorded directory that is `directory` or contains it; null: the server has created none there. */
  containing(directory: string): Promise<MadeWorkspace | null>
  /** Those of a user. */
  ofOwner(owner: string): Promise<MadeWorkspace[]>
  /** Forgets a directory that is gone. */
  forget(root: string): Promise<void>
  /**
   * Some of the conversations whose working directory, or the repository of whose worktree, is `root` or inside it, at most
   * `limit`. Paths are compared by their names.
   */
  naming(root: string, limit: number): Promise<ConversationId[]>
}
