/** The browser as fourteen tools that share one running browser. Source: agent-core.md 8.10, agent-server-wire.md 4.8. */
import { BrowserAction, ParleyError, type Observation } from '@parley/protocol'
import { z } from 'zod'
import { defineTool } from '../define.ts'
import { Refusal } from '../file-editor/refusal.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from '../tool.ts'
import { ACTIONS } from './actions.ts'
import { BrowserHolder } from './holder.ts'
import { observe, refusal, type Said } from './observation.ts'
import type { Session } from './session.ts'
import { TOOLS, type Described } from './tools.ts'

/** The set takes no parameters. */
export const BrowserParams = z.strictObject({})

/** The tools of one agent. Nothing is started before the first of them is used. */
export function browserToolSet(holder: BrowserHolder = new BrowserHolder()): Tool[] {
  return TOOLS.map((described) => browserTool(described, holder))
}

function browserTool(
  { name, action, description, properties, required, isReadOnly, isRepeatable }: Described,
  holder: BrowserHolder,
): Tool {
  const tool = defineTool<BrowserAction>({
    kind: action.replace(/Action$/, ''),
    name,
    description,
    parameters: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
    annotations: {
      readOnlyHint: isReadOnly,
      destructiveHint: !isReadOnly,
      idempotentHint: isReadOnly,
      openWorldHint: true,
    },
    // The holder has limits of its own.
    limitMs: UNLIMITED_MS,
    parse: (args) => BrowserAction.parse({ ...args, kind: action }),
    resources: () => [holder.key],
    perform: (given, context) => perform(given, holder, context),
    // The browser died with the server: what was looked at can be looked at again, what was done may have been done.
    recover: async () => ({ kind: isRepeatable ? 'perform' : 'unknown' }),
  })
  return {
    ...tool,
    definition: { ...tool.definition, observation_type: 'BrowserObservation' },
    // Each of them closes the browser they share: a filter may have left any of them out.
    [Symbol.asyncDispose]: () => holder.close(),
  }
}

async function perform(action: BrowserAction, holder: BrowserHolder, context: ToolContext): Promise<Observation> {
  try {
    return await holder.use(async (session) => {
      // Which of the functions belongs to the action is known by its kind alone.
      const act = ACTIONS[action.kind] as (of: BrowserAction, ...rest: [Session, ToolContext]) => Promise<Said>
      const said = await act(action, session, context)
      return observe(said, session.takeNotes(), context)
    }, context)
  } catch (error) {
    if (context.signal.aborted) throw error
    const reason = reasonOf(error)
    if (reason === null) throw error
    return refusal(reason)
  }
}

/** What went wrong in the browser or the page is for the model; null for a bug of ours. */
function reasonOf(error: unknown): string | null {
  if (error instanceof Refusal || error instanceof ParleyError) return error.message
  if (!(error instanceof Error)) return null
  // Errors of the browser's library carry the name of the method in front; a page's own come through it too.
  const [, message] = /^(?:\w+\.)+\w+: ([^\n]*)/.exec(error.message) ?? []
  if (message !== undefined) return message
  return error.name === 'TimeoutError' ? (error.message.split('\n')[0] ?? error.name) : null
}
