import type { ClientRequest } from 'node:http'
import { afterReading } from './time-limit.ts'

/**
 * Calls `onSilent` when the server of a request is silent for the request's `timeout`. After this process was stopped, the timer
 * fires before the socket is read; what has arrived by then is no silence.
 */
export function onSilence(request: ClientRequest, onSilent: () => void): void {
  request.on('timeout', () => {
    const bytes = request.socket?.bytesRead
    afterReading(() => {
      if (request.socket?.bytesRead === bytes) onSilent()
    })
  })
}
