/** The file editor of a planning agent: it views every file and writes one. Source: agent-core.md 8.11. */
import {
  type FileEditorAction,
  ParleyError,
  PlanningFileEditorAction,
  textContent,
  type Observation,
} from '@parley/protocol'
import { z } from 'zod'
import { defineTool } from '../define.ts'
import { PARAMETERS } from '../file-editor/description.ts'
import { fileEditorTool } from '../file-editor/file-editor-tool.ts'
import { Refusal } from '../refusal.ts'
import type { Tool } from '../tool.ts'
import { openPlan, PLAN_PATH } from './plan-file.ts'

type PlanningFileEditorAction = z.infer<typeof PlanningFileEditorAction>

/** Parameters of the tool: the plan's absolute path, where it is not the default. */
export const PlanningEditorParams = z.strictObject({
  plan_path: z.string().startsWith('/', 'plan_path must be absolute; it must start with `/`').nullish(),
})

const describe = (
  plan: string,
) => `Views files, and writes the plan: ${plan}, which is there from the beginning with five headings.

Commands:
- view: a file with line numbers (all of it, or the lines of view_range), an image, or a directory two levels deep. Any path.
- str_replace, insert, undo_edit: change the plan, and only the plan. old_str must match exactly and occur once; insert puts new_str as whole lines after line insert_line, 0 being the beginning.

Paths are absolute. Every other file stays as it is: you plan a change here, others make it.`

/** The `planning_file_editor` tool. */
export function planningEditorTool({ plan_path }: z.infer<typeof PlanningEditorParams> = {}): Tool {
  const editor = fileEditorTool()
  const custom = plan_path ?? null
  const asEdit = (action: PlanningFileEditorAction): FileEditorAction => ({ ...action, kind: 'FileEditorAction' })
  return defineTool<PlanningFileEditorAction>({
    kind: 'PlanningFileEditor',
    name: 'planning_file_editor',
    description: describe(custom ?? `${PLAN_PATH} in the working directory`),
    parameters: PARAMETERS,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    parse: (args) => PlanningFileEditorAction.parse({ ...args, kind: 'PlanningFileEditorAction' }),
    resources: (action, workspace) => [
      ...new Set([...editor.resources(asEdit(action), workspace)!, `file:${workspace.resolve(custom ?? PLAN_PATH)}`]),
    ],
    async execute(action, context) {
      try {
        const plan = await openPlan(custom, context)
        if (action.command !== 'view' && context.workspace.resolve(action.path) !== plan)
          throw new Refusal(`Operation not allowed: only ${plan} can be changed here, not ${action.path}.`)
      } catch (error) {
        if (!(error instanceof Refusal || error instanceof ParleyError) || context.signal.aborted) throw error
        return refused(action, error.message)
      }
      return renamed(await editor.execute(asEdit(action), context))
    },
    async recover(action, context, ledger) {
      const event = { id: context.callId, action: asEdit(action) } as Parameters<Tool['recover']>[0]
      const found = await editor.recover(event, ledger, context)
      return found.kind === 'done' ? { kind: 'done', observation: renamed(found.observation) } : found
    },
  })
}

const renamed = (observation: Observation): Observation =>
  ({ ...observation, kind: 'PlanningFileEditorObservation' }) as Observation

function refused({ command, path }: PlanningFileEditorAction, reason: string): Observation {
  return {
    kind: 'PlanningFileEditorObservation',
    content: [textContent(reason)],
    is_error: true,
    command,
    path,
    prev_exist: true,
    old_content: null,
    new_content: null,
  }
}
