import {
  type ClientAction,
  type ClientToolSpec,
  invalidInput,
  type Observation,
  type Place,
  textContent,
} from '@parley/protocol'
import type { ClientResult } from './client-calls.ts'
import { shownImages } from './shown-images.ts'
import { foreignSchema } from './foreign-schema.ts'
import { UNLIMITED_MS, type Tool, type ToolContext } from './tool.ts'

/** Seconds to wait for a result when the client sets no other time. */
const RESULT_TIMEOUT_SECONDS = 3600

/**
 * A tool that a client declared for its conversation and executes outside. The call gets its observation at once, and
 * clients
 * that follow the events execute the action; or, where the client declares it so, the call waits until its result is
 * posted.
 * Sources: interface.md, ClientToolSpec; agent-core.md 8.13; agent-server-wire.md 5.6.
 * @throws ParleyError `invalid_input` at `place` when no model can be offered its schema.
 */
export function clientTool(spec: ClientToolSpec, place: Place = []): Tool {
  const { name, description, parameters, annotations } = spec
  const fitted = foreignSchema(parameters)
  if ('problem' in fitted)
    throw invalidInput(`Client tool '${name}' cannot be offered to a model: ${fitted.problem}.`, place)
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
    parameters: fitted.schema,
    // Only an operator may declare a tool of unknown origin as safe (F16).
    isReadOnly: false,
    parse: (given) => {
      const args = fitted.restore(given)
      const missing = required.filter((member) => typeof member === 'string' && !(member in args))
      if (missing.length > 0) throw invalidInput(`missing: ${missing.join(', ')}`)
      const { kind, ...others } = args
      // The action uses this name itself; an argument of the same name gets another member.
      return { ...others, ...(kind === undefined ? {} : { kind_: kind }), kind: `ClientAction_${name}` } as ClientAction
    },
    ...(spec.awaits_result === true ? awaited(spec) : AT_ONCE),
  }
}

type Execution = Pick<Tool, 'resources' | 'execute' | 'recover' | 'limitMs'>

const AT_ONCE: Execution = {
  resources: () => null,
  execute: () => Promise.resolve(observed([textContent('Tool call dispatched to client.')])),
  recover: () => Promise.resolve({ kind: 'execute' }),
}

/** The client decides what may run at the same time: calls of one tool do not lock each other here. */
function awaited({ name, result_timeout }: ClientToolSpec): Execution {
  const seconds = result_timeout ?? RESULT_TIMEOUT_SECONDS
  return {
    resources: () => [],
    limitMs: UNLIMITED_MS,
    async execute(_, context) {
      const result = await callsOf(context).result(context.callId, seconds * 1000, context.signal)
      if (result !== null) return resultOf(result)
      const message = `The client did not bring the result of ${name} within ${seconds} seconds. Whether it did anything is not known.`
      return observed([textContent(message)], true)
    },
    // A result from before the crash counts; a call without a result waits for it again.
    async recover(_, __, context) {
      const result = await callsOf(context).known(context.callId)
      return result === null ? { kind: 'execute' } : { kind: 'done', observation: await resultOf(result) }
    },
  }
}

async function resultOf({ content, is_error }: ClientResult): Promise<Observation> {
  if (content.length === 0) return observed([textContent('The client has nothing to say about it.')], is_error)
  return observed(await shownImages(content), is_error)
}

const observed = (content: ClientResult['content'], is_error = false): Observation => ({
  kind: 'ClientToolObservation',
  content,
  is_error,
})

function callsOf({ services }: ToolContext) {
  if (services?.clientCalls !== undefined) return services.clientCalls
  throw invalidInput('no client can bring a result here')
}
