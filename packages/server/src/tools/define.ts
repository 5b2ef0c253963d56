import type { Action, ActionEvent, Observation, ToolAnnotations } from '@parley/protocol'
import type { LedgerEntry, Workspace } from '../workspace/index.ts'
import type { Recovery, Tool, ToolContext } from './tool.ts'

/** A tool of our own, typed by its action. */
export type ToolParts<A extends Action> = {
  /** Class name without `Tool`: names of the definition, the action and the observation follow. Source: agent-server-wire.md 4.8. */
  kind: string
  /** Kind of the definition where clients do not know `<kind>Tool`; they read no event that holds an unknown one. */
  knownAs?: string
  name: string
  description: string
  parameters: Record<string, unknown>
  annotations: Omit<ToolAnnotations, 'title'>
  /** Milliseconds; absent: as long as any other call. */
  limitMs?: number
  parse(args: Record<string, unknown>): A
  /** Absent: the tool as a whole is locked. */
  resources?(action: A, workspace: Workspace): readonly string[]
  perform(action: A, context: ToolContext): Promise<Observation>
  /** Absent: performing it once more does no harm. */
  recover?(action: A, context: ToolContext, ledger: LedgerEntry): Promise<Recovery>
}

/** Makes a tool of its parts. An action of this tool was made by its `parse`, which is what the narrowing relies on. */
export function defineTool<A extends Action>(parts: ToolParts<A>): Tool {
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
    ...(parts.limitMs === undefined ? {} : { limitMs: parts.limitMs }),
    parse: (args) => parts.parse(args),
    resources: (action, workspace) => parts.resources?.(action as A, workspace) ?? null,
    perform: (action, context) => parts.perform(action as A, context),
    recover: async ({ action }: ActionEvent, ledger, context) =>
      parts.recover?.(action as A, context, ledger) ?? { kind: 'perform' },
  }
}
