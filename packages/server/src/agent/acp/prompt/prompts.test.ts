import { expect, test } from 'vitest'
import type { TreeEvent } from '@parley/protocol'
import { nextPrompt, promptBlocks, turnId } from './prompts.ts'

const message = (id: string, source = 'user'): TreeEvent =>
  ({
    kind: 'MessageEvent',
    id,
    source,
    llm_message: { role: 'user', content: [{ type: 'text', text: id }] },
    llm_response_id: null,
    extended_content: [],
  }) as unknown as TreeEvent
const closed = (message: string): TreeEvent =>
  ({ kind: 'ActionEvent', id: `a-${message}`, llm_response_id: turnId(message as never) }) as unknown as TreeEvent
const other = { kind: 'ActionEvent', id: 'p', llm_response_id: 'acp_permission_p' } as unknown as TreeEvent

test.each<[string, TreeEvent[], string | null, number]>([
  ['none on an empty branch', [], null, 0],
  ['the first message of a branch', [message('m1')], 'm1', 0],
  ['none after an answered message', [message('m1'), closed('m1')], null, 0],
  ['the first of two messages, while one waits', [message('m1'), message('m2')], 'm1', 1],
  ['the second message after the first is answered', [message('m1'), message('m2'), closed('m1')], 'm2', 0],
  ['none after two answered messages', [message('m1'), message('m2'), closed('m1'), closed('m2')], null, 0],
  ['a message of the service', [message('m1'), closed('m1'), message('stop', 'environment')], 'stop', 0],
  ['no message of the agent itself', [message('m1'), closed('m1'), message('x', 'agent')], null, 0],
  ['the same message after a permission request, which closes no turn', [message('m1'), other], 'm1', 0],
])('the next prompt is %s', (_, view, id, waiting) => {
  const next = nextPrompt(view)
  expect(next === null ? null : next.message.id).toBe(id)
  expect(next?.waiting ?? 0).toBe(waiting)
})

test('prompt blocks leave blank texts out and replace images that the agent does not take by a note', () => {
  const content = [
    { type: 'text', text: ' ' },
    { type: 'image', image_urls: ['data:image/png;base64,AA'] },
  ]
  const event = {
    ...message('m'),
    llm_message: { role: 'user', content },
    extended_content: [{ type: 'text', text: 'more' }],
  } as never
  expect(promptBlocks(event, { images: false }).map((block) => block.type)).toEqual(['text', 'text'])
  expect(promptBlocks(event, { images: true })).toEqual([
    { type: 'image', mimeType: 'image/png', data: 'AA' },
    { type: 'text', text: 'more' },
  ])
})
