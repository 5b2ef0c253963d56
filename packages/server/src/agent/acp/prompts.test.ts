import { expect, test } from 'vitest'
import type { TreeEvent } from '@parley/protocol'
import { nextPrompt, promptBlocks, turnId } from './prompts.ts'

const said = (id: string, source = 'user'): TreeEvent =>
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
  ['nothing was said', [], null, 0],
  ['the first message', [said('m1')], 'm1', 0],
  ['what was answered is not asked again', [said('m1'), closed('m1')], null, 0],
  ['two messages are two turns', [said('m1'), said('m2')], 'm1', 1],
  ['one waits while another is answered', [said('m1'), said('m2'), closed('m1')], 'm2', 0],
  ['all are answered', [said('m1'), said('m2'), closed('m1'), closed('m2')], null, 0],
  ['a word of the service is asked too', [said('m1'), closed('m1'), said('stop', 'environment')], 'stop', 0],
  ['the agent does not ask itself', [said('m1'), closed('m1'), said('x', 'agent')], null, 0],
  ['a permission closes nothing', [said('m1'), other], 'm1', 0],
])('the next prompt: %s', (_, view, id, waiting) => {
  const next = nextPrompt(view)
  expect(next === null ? null : next.message.id).toBe(id)
  expect(next?.waiting ?? 0).toBe(waiting)
})

test('blank texts are left out, and images that the agent cannot take are said to be there', () => {
  const content = [
    { type: 'text', text: ' ' },
    { type: 'image', image_urls: ['data:image/png;base64,AA'] },
  ]
  const event = {
    ...said('m'),
    llm_message: { role: 'user', content },
    extended_content: [{ type: 'text', text: 'more' }],
  } as never
  expect(promptBlocks(event, { images: false }).map((block) => block.type)).toEqual(['text', 'text'])
  expect(promptBlocks(event, { images: true })).toEqual([
    { type: 'image', mimeType: 'image/png', data: 'AA' },
    { type: 'text', text: 'more' },
  ])
})
