/** The model `parley/demo`: a script that plays the demo. It needs no key and sends no request. Source: docs/web-ui.md, The first minute. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { LLM } from '@parley/protocol'
import { shellQuote } from '../../lib/index.ts'
import type { Llm } from '../llm.ts'
import { play } from '../scripted.ts'
import { demoAnswer } from './script.ts'

export const demoLlm = (config: LLM): Llm => ({
  model: config.model,
  usageId: config.usage_id,
  async complete(request, onDelta, signal) {
    signal.throwIfAborted()
    const answer = demoAnswer(request.messages, testCommand(process.env['PATH'] ?? ''))
    return play(config, answer, request, config.stream ? onDelta : () => {}, signal)
  },
})

/** `node` where a shell finds it, otherwise the path of this Node, which a sandbox shows as well. */
export function testCommand(path: string): string {
  const hasNode = path.split(delimiter).some((folder) => folder !== '' && isProgram(join(folder, 'node')))
  return `${hasNode ? 'node' : shellQuote(process.execPath)} --test`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
