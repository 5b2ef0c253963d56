import { ParleyError, textContent, type ClientAction, type ClientToolSpec, type Observation } from '@parley/protocol'
import type { ClientResult } from './client-calls.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from './tool.ts'

/** Seconds that a result is waited for when the client names no other time. */
const RESULT_TIMEOUT_SECONDS = 3600

/**
 * A tool that a client declared for its conversation and performs outside. The call is answered at once, and whoever watches for
 * the action performs it; or, where the client says so, the call waits until its result is posted.
 * Sources: seed, ClientToolSpec; agent-core.md 8.13; agent-server-wire.md 5.6.
 */
export function clientTool(spec: ClientToolSpec): Tool {
  const { name, description, parameters, annotations } = spec
  const required = Array.isArray(parameters['required']) ? (parameters['required'] as unknown[]) : []
  return {
    name,
    definition: {
      kind: 'ClientTool',
      title: name,
      description,
      action_type: `ClientAction_${name}`,
      observation_type: 'ClientToolObservation',
      annotations,
      meta: null,
      client_tool_name: name,
      input_schema: parameters,
    },
    parameters,
    // Only an operator may vouch for a tool of unknown making (F16).
    isReadOnly: false,
    parse: (args) => {
      const missing = required.filter((member) => typeof member === 'string' && !(member in args))
      if (missing.length > 0) throw new ParleyError('invalid_input', `missing: ${missing.join(', ')}`)
      const { kind, ...others } = args
      // The name is taken by the action itself; an argument of that name goes beside it.
      return { ...others, ...(kind === undefined ? {} : { kind_: kind }), kind: `ClientAction_${name}` } as ClientAction
    },
    ...(spec.awaits_result === true ? awaited(spec) : AT_ONCE),
  }
}

type Performing = Pick<Tool, 'resources' | 'perform' | 'recover' | 'limitMs'>

const AT_ONCE: Performing = {
  resources: () => null,
  perform: () => Promise.resolve(observed([textContent('Tool call dispatched to client.')])),
  recover: () => Promise.resolve({ kind: 'perform' }),
}

/** The client decides what may happen at the same time: calls of one tool do not wait for each other here. */
function awaited({ name, result_timeout }: ClientToolSpec): Performing {
  const seconds = result_timeout ?? RESULT_TIMEOUT_SECONDS
  return {
    resources: () => [],
    limitMs: UNLIMITED_MS,
    async perform(_, context) {
      const result = await callsOf(context).result(context.callId, seconds * 1000, context.signal)
      if (result !== null) return resultOf(result)
      const said = `The client did not bring the result of ${name} within ${seconds} seconds. Whether it did anything is not known.`
      return observed([textContent(said)], true)
    },
    // What the client did before the server died counts; a call that it has not answered yet still waits for it.
    async recover(_, __, context) {
      const result = await callsOf(context).known(context.callId)
      return result === null ? { kind: 'perform' } : { kind: 'done', observation: resultOf(result) }
    },
  }
}

const resultOf = ({ content, is_error }: ClientResult): Observation =>
  observed(content.length === 0 ? [textContent('The client has nothing to say about it.')] : content, is_error)

const observed = (content: ClientResult['content'], is_error = false): Observation => ({
  kind: 'ClientToolObservation',
  content,
  is_error,
})

function callsOf({ services }: ToolContext) {
  if (services?.clientCalls !== undefined) return services.clientCalls
  throw new ParleyError('invalid_input', 'no client can bring a result here')
}
