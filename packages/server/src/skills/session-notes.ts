/** Notes of earlier sessions. Source: agent-core.md 6.6. */
import { DEFAULT_USER } from '../settings/index.ts'
import type { Workspace } from '../workspace/index.ts'
import { Folder } from './folder.ts'
import { OWN_FILES } from './home.ts'
import { MEMORY_FILE, memoryText } from './memory.ts'

/** The user's notes, if the user is the owner of the server's account, and the project's; null when there are none. */
export async function readNotes(
  ownHome: string,
  user: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<string | null> {
  const home = user === DEFAULT_USER ? await Folder.open(OWN_FILES, ownHome, signal, { isConfined: false }) : null
  // Confined: a link that leads out of the project is not followed.
  const project = await Folder.open(workspace, workspace.workingDir, signal)
  const [own, ofProject] = [await home?.read(MEMORY_FILE), await project?.read(MEMORY_FILE)]
  return memoryText([
    { title: 'Notes of the user', text: own ?? '' },
    { title: 'Notes of this project', text: ofProject ?? '' },
  ])
}
