/** Changes several files in one call, all or none of them. Source: agent-core.md 8.9. */
import { ApplyPatchAction, ParleyError, textContent, type Action, type Observation } from '@parley/protocol'
import { MASK } from '../../secrets/index.ts'
import { defineTool } from '../define.ts'
import { History } from '../file-editor/history.ts'
import { Refusal } from '../refusal.ts'
import { syntaxLines, type EditedFile } from '../syntax/syntax-check.ts'
import { unlessUnknown, type Tool, type ToolContext } from '../tool.ts'
import { writeAll, progressOf } from './write-files.ts'
import { DESCRIPTION, FREEFORM_DESCRIPTION, PARAMETERS } from './description.ts'
import { GRAMMAR } from './grammar.ts'
import { forgetPlan, readPlan, writePlan } from './notes.ts'
import { parsePatch } from './parse.ts'
import { planPatch, type Plan } from './plan.ts'

type PatchAction = Extract<Action, { kind: 'ApplyPatchAction' }>
type PatchObservation = Extract<Observation, { kind: 'ApplyPatchObservation' }>

/** The `apply_patch` tool. */
export function applyPatchTool(): Tool {
  return defineTool<PatchAction>({
    kind: 'ApplyPatch',
    name: 'apply_patch',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    freeform: { parameter: 'patch', grammar: GRAMMAR, description: FREEFORM_DESCRIPTION },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    parse: (args) => ApplyPatchAction.parse({ ...args, kind: 'ApplyPatchAction' }),
    resources: ({ patch }, workspace) => filesOf(patch).map((path) => `file:${workspace.resolve(path)}`),
    async execute({ patch }, context) {
      try {
        const plan = await apply(patch, context)
        return done(plan, await syntaxLines(editedFiles(plan), context))
      } catch (error) {
        if (context.signal.aborted) throw error
        const message = reasonOf(error)
        return {
          kind: 'ApplyPatchObservation',
          content: [textContent(message)],
          is_error: true,
          message,
          fuzz: 0,
          commit: null,
        }
      }
    },
    recover: async (action, context, ledger) => {
      const note = await readPlan(context)
      if (note === null) return unlessUnknown(ledger)
      switch (await progressOf(note.writes, context)) {
        case 'all':
          return { kind: 'done', observation: done(note) }
        case 'none':
          return unlessUnknown(ledger)
        case 'part':
          // The rest of the patch is in the note. A call that is not executed again cannot complete a patch.
          return action.patch.includes(MASK) ? { kind: 'unknown' } : unlessUnknown(ledger)
        case 'unclear':
          return { kind: 'unknown' }
      }
    },
  })
}

/** Applies the patch, or the rest of it when an earlier process died while applying it. */
async function apply(patch: string, context: ToolContext): Promise<Plan> {
  const history = new History(context.dataDir)
  const begun = await readPlan(context)
  if (begun !== null && (await progressOf(begun.writes, context)) !== 'unclear') {
    const left = []
    for (const write of begun.writes) if ((await progressOf([write], context)) !== 'all') left.push(write)
    await writeAll(left, history, context)
    return begun
  }
  const plan = await planPatch(parsePatch(patch), context)
  await writePlan(plan, context)
  try {
    await writeAll(plan.writes, history, context)
  } catch (error) {
    await forgetPlan(context)
    throw error
  }
  return plan
}

/** Deleted files, and those that are too large for an observation, are left out. */
const editedFiles = ({ changes }: Plan): EditedFile[] =>
  Object.entries(changes).flatMap(([path, { old_content, new_content, move_path }]) =>
    new_content === null ? [] : [{ path: move_path ?? path, before: old_content, after: new_content }],
  )

/** @param faults lines about syntax errors, each with a line break in front */
function done({ changes, fuzz }: Plan, faults = ''): PatchObservation {
  const rows = Object.entries(changes).map(([path, { type, move_path }]) => {
    if (type === 'add') return `A ${path}`
    if (type === 'delete') return `D ${path}`
    return move_path === null ? `M ${path}` : `R ${path} -> ${move_path}`
  })
  const loosely =
    fuzz === 0
      ? ''
      : '\nSome lines were found only by overlooking white space, or not where the patch said; check them.'
  const message = `The patch is applied:\n${rows.join('\n')}${loosely}${faults}`
  return {
    kind: 'ApplyPatchObservation',
    content: [textContent(message)],
    is_error: false,
    message,
    fuzz,
    commit: { changes },
  }
}

/** Returns the paths that a patch names, as far as it can be parsed, to lock them. */
function filesOf(patch: string): string[] {
  return [...patch.matchAll(/^\*\*\* (?:(?:Add|Delete|Update) File|Move to): *(.*?) *\r?$/gm)].map(([, path]) => path!)
}

/**
 * Returns the reason of a failure, for the model. Any error but a refusal or one of the file system is a bug and is
 * thrown again.
 */
function reasonOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof ParleyError) return error.message
  if (error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string')
    return `${error.message}. Nothing was changed.`
  throw error
}
