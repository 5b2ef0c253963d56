/**
 * Definitions of sub-agents in files of the project and of the user.
 *
 * Invariants
 *   D1. A project's definition starts nothing by itself: its hooks and MCP servers count only where the operator trusts the
 *       project (trusted_hooks).
 *   D2. Files in the home folder of the server's account are for the owner of that account alone.
 */
import type { Agent, AgentDefinition } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import { DEFAULT_USER } from '../../settings/index.ts'
import { Folder, OWN_FILES } from '../../skills/index.ts'
import { canonicalToolName, type SubAgentType } from '../../tools/index.ts'
import type { Workspaces } from '../../workspace/index.ts'
import { workspaceSpec, type OwnedConversation } from '../record/record.ts'
import { isTrustedProject } from '../record/trusted-project.ts'
import { definitionsIn } from './definition-file.ts'

export type FindDefinitionsDeps = {
  workspaces: Pick<Workspaces, 'open'>
  /** Home folder of the account that the server runs under. */
  home: string
  /** Patterns of projects whose own commands count. */
  trusted: readonly string[]
  log: Pick<Log, 'info'>
}

/** Finds the definitions that a conversation can use, the project's before the user's. */
export const findDefinitionsIn =
  ({ workspaces, home, trusted, log }: FindDefinitionsDeps) =>
  async (parent: OwnedConversation): Promise<AgentDefinition[]> => {
    const { owner, record } = parent
    const signal = new AbortController().signal
    await using workspace = await workspaces.open(workspaceSpec(parent), signal)
    const project = await Folder.open(workspace, record.workspace.working_dir, signal)
    const own = owner === DEFAULT_USER ? await Folder.open(OWN_FILES, home, signal, { isConfined: false }) : null
    const ofProject = project === null ? [] : await definitionsIn(project, 'project')
    const ofUser = own === null ? [] : await definitionsIn(own, 'user')
    const notes = [...(project?.notes ?? []), ...(own?.notes ?? [])]
    if (notes.length > 0)
      log.info({ conversation_id: parent.id, notes: notes.slice(0, 50) }, 'sub-agent definitions left out')
    return [...(isTrustedProject(record, trusted) ? ofProject : ofProject.map(harmless)), ...ofUser]
  }

/** The definition without what would start programs (D1). */
export const harmless = (definition: AgentDefinition): AgentDefinition => ({
  ...definition,
  hooks: null,
  mcp_config: null,
})

const TOOLS: ReadonlySet<string> = new Set(['task', 'task_tool_set', 'delegate'])

/** The types for the model's tool descriptions; not looked up when the agent has no tool for sub-agents. */
export async function subAgentTypes(
  { tools }: Pick<Agent, 'tools'>,
  subAgents: { types(): Promise<SubAgentType[]> } | undefined,
): Promise<{ subAgentTypes?: readonly SubAgentType[] }> {
  const isAsked = tools.some(({ name }) => TOOLS.has(canonicalToolName(name)))
  return isAsked && subAgents !== undefined ? { subAgentTypes: await subAgents.types() } : {}
}
