import { ParleyError, textContent, type ClientAction, type ClientToolSpec } from '@parley/protocol'
import type { Tool } from './tool.ts'

/**
 * A tool that a client declared for its conversation and performs outside. The call is answered at once; whoever watches for the
 * action performs it, and usually comes back with a message. Source: seed, ClientToolSpec; agent-server-wire.md 5.6.
 */
export function clientTool({ name, description, parameters, annotations }: ClientToolSpec): Tool {
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
      return { ...args, kind: `ClientAction_${name}` } satisfies ClientAction
    },
    resources: () => null,
    perform: () =>
      Promise.resolve({
        kind: 'ClientToolObservation',
        content: [textContent('Tool call dispatched to client.')],
        is_error: false,
      }),
    recover: () => Promise.resolve({ kind: 'perform' }),
  }
}
