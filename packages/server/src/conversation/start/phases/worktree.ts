/** A conversation that works in a git worktree of its own. Source: agent-server-wire.md 5.4. */
import { AgentContext } from '@parley/protocol'
import { makeWorktree, type WorkspaceRemoval, type Workspaces } from '../../../workspace/index.ts'
import type { ConversationRecord, OwnedConversation } from '../../record/record.ts'
import type { PhaseEnd } from './phase.ts'

/** True when the request contains a worktree that is not created yet. */
export const isOwedWorktree = ({ worktree }: ConversationRecord): boolean =>
  worktree !== null && worktree !== undefined && worktree.branch === null

/** Creates the worktree; without a repository, the conversation works in the directory of the request. */
export async function takeWorktree(
  { id, owner, record, epoch }: OwnedConversation,
  workspaces: Workspaces,
  made: Pick<WorkspaceRemoval, 'make' | 'record'>,
  signal: AbortSignal,
): Promise<PhaseEnd> {
  const asked = record.worktree!
  await using workspace = await workspaces.open({ conversationId: id, owner, workingDir: asked.source, epoch }, signal)
  const created = await makeWorktree(workspace, { directory: asked.source, root: asked.root, name: id }, signal)
  if (created === null) {
    await made.make(asked.source, owner)
    const back = { ...record.workspace, working_dir: asked.source }
    return { detail: 'no repository to make a worktree of', change: { workspace: back, worktree: null } }
  }
  await made.record({ root: created.root, owner, kind: 'worktree', repository: created.repository })
  const worktree = { ...asked, branch: created.branch }
  const change = {
    workspace: { ...record.workspace, working_dir: created.workingDir },
    worktree,
    agent: withDirectory(record, created),
  }
  return { detail: `worktree on branch ${created.branch}, from ${created.base}`, change }
}

function withDirectory(
  { agent, worktree }: ConversationRecord,
  created: { workingDir: string; branch: string; base: string },
) {
  const note = [
    '<worktree>',
    `Your working directory ${created.workingDir} is a git worktree that was made for this conversation from ${worktree!.source}. The branch ${created.branch} is checked out; it starts at ${created.base}.`,
    'Work and commit here. Other working trees of the same repository belong to others.',
    '</worktree>',
  ].join('\n')
  const context = agent.agent_context ?? AgentContext.parse({})
  const before = context.system_message_suffix
  const system_message_suffix = before === null || before === '' ? note : `${before}\n\n${note}`
  return { ...agent, agent_context: { ...context, system_message_suffix } }
}
