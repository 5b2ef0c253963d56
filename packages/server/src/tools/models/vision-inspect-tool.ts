import { type Action, invalidInput, textContent, VisionInspectAction } from '@parley/protocol'
import { defineTool } from '../define.ts'
import type { Tool } from '../tool.ts'

type InspectAction = Extract<Action, { kind: 'VisionInspectAction' }>

/** Name of the tool in messages to a model without vision. */
export const VISION_TOOL = 'inspect_image_with_vision'

/** Asks a model with vision about an image. Source: agent-core.md 8.6. */
export function visionInspectTool(): Tool {
  return defineTool<InspectAction>({
    kind: 'VisionInspect',
    name: VISION_TOOL,
    description:
      'Asks another model, which sees, about an image that came with the newest message that has images. You cannot see images ' +
      'yourself: where one was, the message names its number. Ask for exactly what you need to know; ask again for more.',
    parameters: {
      type: 'object',
      properties: {
        image_index: { type: 'integer', minimum: 0, description: 'The number of the image, from 0.' },
        question: { type: 'string', description: 'What you want to know of it.' },
        profile_name: { type: 'string', description: 'The saved profile to ask. Default: the first one that sees.' },
      },
      required: ['image_index', 'question'],
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    parse: (args) => VisionInspectAction.parse({ ...args, kind: 'VisionInspectAction' }),
    resources: () => [],
    async execute({ image_index, question, profile_name }, { services, signal }) {
      const vision = services?.vision
      if (vision === undefined) throw invalidInput('This agent has no other model to ask.')
      const found = await vision.inspect({ image_index, question, profile_name }, signal)
      const about = { kind: 'VisionInspectObservation', image_index, question } as const
      if ('problem' in found) {
        const nothing = { profile_name, model: null, base_url: null, answer: null }
        return { ...about, ...nothing, content: [textContent(found.problem)], is_error: true }
      }
      return { ...about, ...found, content: [textContent(found.answer)], is_error: false }
    },
  })
}
