import { wireEvent, type Event, type WireEvent } from '@parley/protocol'
import { redact } from './redact.ts'

/**
 * An event as it leaves the server. Texts were masked when it was stored; a changed field of the state may also carry a
 * record with secrets of its own, such as an analyzer's key, and is redacted like any other record.
 */
export function shownEvent(event: Event): WireEvent {
  const wire = wireEvent(event)
  return event.kind === 'StateChangedEvent' ? (redact(wire, 'socket') as WireEvent) : wire
}
