/** JSON in frames of clients, within the limits of bodies, and the texts for invalid ones. Source: agent-server-wire.md 2.5. */
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from '@parley/protocol'
import { readJsonBody } from '../input/json-body.ts'
import { InvalidInput, type Read } from '../input/validation.ts'

/** The value of a text frame, or why there is none. */
export async function readJsonFrame(data: Buffer): Promise<{ value: unknown } | { detail: string }> {
  const body = await readJsonBody(data, undefined)
  switch (body.kind) {
    case 'value':
    case 'text':
      return { value: body.value }
    case 'malformed':
      return { detail: `${body.reason}: char ${body.offset}` }
    case 'absent':
      return { detail: 'Expecting value: char 0' }
    case 'unreadable':
      return { detail: `not text, or nested deeper than ${MAX_JSON_DEPTH} levels` }
    case 'too_many':
      return { detail: `more than ${MAX_JSON_VALUES} JSON values` }
  }
}

/** The failures of a frame in one sentence each. */
export function failuresOf({ entries }: Read<unknown>): string {
  const { detail } = new InvalidInput(entries)
  return detail.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join('.')}: ${msg}` : msg)).join('; ')
}
