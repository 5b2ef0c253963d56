/** The answer of a node to a request that another node has sent to it by mistake. */
import type { IncomingMessage } from 'node:http'
import type { Answer } from '../core/errors.ts'
import { HOP_HEADER } from './hop.ts'

/** The conversation belongs to another node meanwhile. Only nodes see this answer. */
export const NOT_OWNER: Answer = {
  status: 421,
  body: { detail: 'This node does not own the conversation.' },
  headers: { [HOP_HEADER]: 'not-owner' },
}

/** A request with a hop that is not valid: of a client, or of a node with another secret key or clock. */
export const HOP_REFUSED: Answer = {
  status: 400,
  body: { detail: 'The header X-Parley-Hop is for the nodes of this server, and this one is not valid.' },
  headers: { [HOP_HEADER]: 'refused' },
}

export const isNotOwner = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === NOT_OWNER.status && headers[HOP_HEADER] === NOT_OWNER.headers?.[HOP_HEADER]

export const isHopRefused = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === HOP_REFUSED.status && headers[HOP_HEADER] === HOP_REFUSED.headers?.[HOP_HEADER]
