/**
 * The browser as fourteen tools that share one running browser. Source: agent-core.md 8.10; agent-server-wire.md 4.8.
 */
import { BrowserAction, ParleyError, type Observation } from '@parley/protocol'
import { z } from 'zod'
import { defineTool } from '../define.ts'
import { Refusal } from '../refusal.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from '../tool.ts'
import { ACTIONS } from './actions.ts'
import { SharedBrowser } from './shared-browser.ts'
import { observe, refusal, type ActionResult } from './observation.ts'
import type { Session } from './session.ts'
import { TOOLS, type Described } from './tools.ts'

/** The set takes no parameters. */
export const BrowserParams = z.strictObject({})

/** Returns the tools of one agent. The browser is started by the first call. */
export function browserToolSet(holder: SharedBrowser = new SharedBrowser()): Tool[] {
  return TOOLS.map((described) => browserTool(described, holder))
}

function browserTool(
  { name, action, description, properties, required, isReadOnly, isRepeatable }: Described,
  holder: SharedBrowser,
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
    // The browser has time limits of its own.
    limitMs: UNLIMITED_MS,
    parse: (args) => BrowserAction.parse({ ...args, kind: action }),
    resources: () => [holder.key],
    execute: (given, context) => execute(given, holder, context),
    // The browser died with the server: reading can be repeated, other actions may have had an effect.
    recover: async () => ({ kind: isRepeatable ? 'execute' : 'unknown' }),
  })
  return {
    ...tool,
    definition: { ...tool.definition, observation_type: 'BrowserObservation' },
    // Every tool closes the shared browser: a filter may have left out any of them.
    [Symbol.asyncDispose]: () => holder.close(),
  }
}

async function execute(action: BrowserAction, holder: SharedBrowser, context: ToolContext): Promise<Observation> {
  try {
    return await holder.use(async (session) => {
      // The kind alone determines the function.
      const act = ACTIONS[action.kind] as (of: BrowserAction, ...rest: [Session, ToolContext]) => Promise<ActionResult>
      const result = await act(action, session, context)
      return observe(result, session.takeNotes(), context)
    }, context)
  } catch (error) {
    if (context.signal.aborted) throw error
    const reason = reasonOf(error)
    if (reason === null) throw error
    return refusal(reason)
  }
}

/** Returns the reason of a failure of the browser or the page, for the model; null for a bug. */
function reasonOf(error: unknown): string | null {
  if (error instanceof Refusal || error instanceof ParleyError) return error.message
  if (!(error instanceof Error)) return null
  // Errors of the browser's library begin with the name of a method; errors of a page also pass through it.
  const [, message] = /^(?:\w+\.)+\w+: ([^\n]*)/.exec(error.message) ?? []
  if (message !== undefined) return message
  return error.name === 'TimeoutError' ? (error.message.split('\n')[0] ?? error.name) : null
}
