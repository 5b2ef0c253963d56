/** Opens the working directories of conversations for reading, wherever they are. */
import type { RootsOf } from '../roots/roots.ts'
import type { Workspaces, WorkspaceSpec } from '../workspace.ts'
import type { BrowsedFolder } from './browsed-folder.ts'
import { localFolder } from './local-folder.ts'
import { remoteFolder } from './remote-folder.ts'

export type BrowseDeps = { workspaces: Pick<Workspaces, 'open'>; roots: RootsOf }

/** Starts no process on this machine. @throws ParleyError `forbidden` for a working directory that the owner's requests may not reach */
export async function browseFolder(spec: WorkspaceSpec, { workspaces, roots }: BrowseDeps): Promise<BrowsedFolder> {
  if (spec.remote != null) return remoteFolder((signal) => workspaces.open(spec, signal))
  const ofOwner = roots(spec.owner)
  return localFolder(await ofOwner.recorded(spec.workingDir), ofOwner.account)
}
