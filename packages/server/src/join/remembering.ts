/** Notes of earlier sessions: read when a conversation starts, told to the model, and shown to nobody else. Source: agent-core.md 6.6. */
import { AgentContext } from '@parley/protocol'
import type { ConversationRecord } from '../conversation/index.ts'
import { DEFAULT_USER } from '../settings/index.ts'
import { Folder, MEMORY_FILE, memoryText, OWN_FILES } from '../skills/index.ts'
import type { Workspace } from '../workspace/index.ts'

/** The notes of the user, if they are of the owner of this account, and of the project; null when there are none. */
export async function memoryOf(
  ownHome: string,
  owner: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<string | null> {
  const home = owner === DEFAULT_USER ? await Folder.open(OWN_FILES, ownHome, signal, { isConfined: false }) : null
  // A link that leads out of the project is not followed.
  const project = await Folder.open(workspace, workspace.workingDir, signal)
  const [own, ofProject] = [await home?.read(MEMORY_FILE), await project?.read(MEMORY_FILE)]
  return memoryText([
    { title: 'Notes of the user', text: own ?? '' },
    { title: 'Notes of this project', text: ofProject ?? '' },
  ])
}

/** The agent of a record as it is opened: with the notes that records do not show. */
export function remembering(record: ConversationRecord): ConversationRecord['agent'] {
  const { agent, loaded } = record
  const memory = loaded?.memory ?? null
  if (memory === null) return agent
  return { ...agent, agent_context: { ...(agent.agent_context ?? AgentContext.parse({})), memory_context: memory } }
}
