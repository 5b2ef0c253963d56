/**
 * Joins what files and profiles say about sub-agents to conversations.
 *
 * Invariants
 *   D1. What a project describes may not start anything by itself: its hooks and MCP servers count only where the operator
 *       trusts the project (trusted_hooks).
 *   D2. What the server's account keeps in its home is for the owner of that account alone.
 */
import type { Agent, AgentDefinition } from '@parley/protocol'
import { definitionsIn, remoteOf, type HeartDeps, type Parent } from '../conversation/index.ts'
import { DEFAULT_USER, LLM_PROFILES } from '../settings/index.ts'
import { Folder, OWN_FILES } from '../skills/index.ts'
import type { DocumentStore } from '../storage/index.ts'
import { canonicalToolName, type SubAgentType } from '../tools/index.ts'
import { isTrusted, type Workspaces } from '../workspace/index.ts'

export type SubAgentParts = {
  workspaces: Workspaces
  documents: Pick<DocumentStore, 'list'>
  /** Home folder of the account that the server runs under. */
  home: string
  /** Patterns of projects whose own commands count. */
  trusted: readonly string[]
  log: { info(fields: object, message: string): void }
}

/** Where the heart finds definitions, the project's before the user's, and the names of profiles. */
export function joinSubAgents({
  workspaces,
  documents,
  home,
  trusted,
  log,
}: SubAgentParts): Pick<HeartDeps, 'findDefinitions' | 'llmNames'> {
  return {
    llmNames: async (owner) => (await documents.list(owner, LLM_PROFILES)).map(({ name }) => name),
    async findDefinitions(parent) {
      const signal = new AbortController().signal
      const { working_dir } = parent.record.workspace
      const spec = {
        conversationId: parent.id,
        workingDir: working_dir,
        epoch: parent.epoch,
        remote: remoteOf(parent.record.workspace),
      }
      await using workspace = await workspaces.open(spec, signal)
      const project = await Folder.open(workspace, working_dir, signal)
      const own =
        parent.owner === DEFAULT_USER ? await Folder.open(OWN_FILES, home, signal, { isConfined: false }) : null
      const ofProject = project === null ? [] : await definitionsIn(project, 'project')
      const ofUser = own === null ? [] : await definitionsIn(own, 'user')
      const notes = [...(project?.notes ?? []), ...(own?.notes ?? [])]
      if (notes.length > 0)
        log.info({ conversation_id: parent.id, notes: notes.slice(0, 50) }, 'descriptions of sub-agents left out')
      return [...(isKnown(parent, trusted) ? ofProject : ofProject.map(harmless)), ...ofUser]
    },
  }
}

/** The types that the model is told of; none are looked for when it has no tool for them. */
export async function subAgentTypes(
  { tools }: Pick<Agent, 'tools'>,
  subAgents: { types(): Promise<SubAgentType[]> } | undefined,
): Promise<{ subAgentTypes?: readonly SubAgentType[] }> {
  const isAsked = tools.some(({ name }) => TOOLS.has(canonicalToolName(name)))
  return isAsked && subAgents !== undefined ? { subAgentTypes: await subAgents.types() } : {}
}

const TOOLS: ReadonlySet<string> = new Set(['task', 'task_tool_set', 'delegate'])

/** A project is known by its repository, or else by its folder. */
const isKnown = ({ record }: Parent, trusted: readonly string[]): boolean =>
  isTrusted(record.repository?.slug ?? record.workspace.working_dir, trusted)

const harmless = (definition: AgentDefinition): AgentDefinition => ({ ...definition, hooks: null, mcp_config: null })
