/** A conversation that works in a git worktree of its own. Source: agent-server-wire.md 5.4. */
import { mkdir } from 'node:fs/promises'
import { AgentContext } from '@parley/protocol'
import { makeWorktree, type Workspaces } from '../../../workspace/index.ts'
import type { ConversationRecord } from '../../record/record.ts'
import type { PhaseEnd, Starting } from './phase.ts'

/** Whether the worktree was asked for and has not been made yet. */
export const isOwedWorktree = ({ worktree }: ConversationRecord): boolean =>
  worktree !== null && worktree !== undefined && worktree.branch === null

/** Makes it; where there is nothing to make it from, the conversation works where the request said. */
export async function takeWorktree(
  { id, record, epoch }: Starting,
  workspaces: Workspaces,
  signal: AbortSignal,
): Promise<PhaseEnd> {
  const asked = record.worktree!
  await using workspace = await workspaces.open({ conversationId: id, workingDir: asked.source, epoch }, signal)
  const made = await makeWorktree(workspace, { directory: asked.source, root: asked.root, name: id }, signal)
  if (made === null) {
    await mkdir(asked.source, { recursive: true })
    const back = { ...record.workspace, working_dir: asked.source }
    return { detail: 'no repository to make a worktree of', change: { workspace: back, worktree: null } }
  }
  const worktree = { ...asked, branch: made.branch }
  const change = {
    workspace: { ...record.workspace, working_dir: made.workingDir },
    worktree,
    agent: told(record, made),
  }
  return { detail: `worktree on branch ${made.branch}, from ${made.base}`, change }
}

function told({ agent, worktree }: ConversationRecord, made: { workingDir: string; branch: string; base: string }) {
  const note = [
    '<worktree>',
    `Your working directory ${made.workingDir} is a git worktree that was made for this conversation from ${worktree!.source}. The branch ${made.branch} is checked out; it starts at ${made.base}.`,
    'Work and commit here. Other working trees of the same repository belong to others.',
    '</worktree>',
  ].join('\n')
  const context = agent.agent_context ?? AgentContext.parse({})
  const before = context.system_message_suffix
  const system_message_suffix = before === null || before === '' ? note : `${before}\n\n${note}`
  return { ...agent, agent_context: { ...context, system_message_suffix } }
}
