import type { Action, ActionEvent, Observation, ToolAnnotations } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../workspace/index.ts'
import type { Recovery, Tool, ToolContext } from './tool.ts'

/** Definition of a tool with a typed action. */
export type ToolSpec<A extends Action> = {
  /** Class name without `Tool`: names of the definition, the action and the observation follow. Source: agent-server-wire.md 4.8. */
  kind: string
  /** Kind of the definition where clients do not know `<kind>Tool`; a client rejects an event with an unknown kind. */
  knownAs?: string
  name: string
  description: string
  parameters: Record<string, unknown>
  annotations: Omit<ToolAnnotations, 'title'>
  /** Absent: all models call the tool with JSON. */
  freeform?: Tool['freeform']
  /** Milliseconds; absent: the default limit. */
  limitMs?: number
  parse(args: Record<string, unknown>): A
  /** Absent: the tool as a whole is locked. */
  resources?(action: A, workspace: Workspace): readonly string[]
  execute(action: A, context: ToolContext): Promise<Observation>
  /** Absent: the action can be repeated safely. */
  recover?(action: A, context: ToolContext, ledger: LedgerEntry): Promise<Recovery>
}

/** Creates a tool from its definition. The narrowing is safe because an action of this tool was made by its `parse`. */
export function defineTool<A extends Action>(parts: ToolSpec<A>): Tool {
  const { kind, name, description, parameters, annotations } = parts
  return {
    name,
    definition: {
      kind: parts.knownAs ?? `${kind}Tool`,
      title: name,
      description,
      action_type: `${kind}Action`,
      observation_type: `${kind}Observation`,
      annotations: { title: name, ...annotations },
      meta: null,
    },
    parameters,
    isReadOnly: annotations.readOnlyHint,
    ...(parts.freeform === undefined ? {} : { freeform: parts.freeform }),
    ...(parts.limitMs === undefined ? {} : { limitMs: parts.limitMs }),
    parse: (args) => parts.parse(args),
    resources: (action, workspace) => parts.resources?.(action as A, workspace) ?? null,
    execute: (action, context) => parts.execute(action as A, context),
    recover: async ({ action }: ActionEvent, ledger, context) =>
      parts.recover?.(action as A, context, ledger) ?? { kind: 'execute' },
  }
}
