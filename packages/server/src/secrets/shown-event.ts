import { wireEvent, type Event, type WireEvent } from '@parley/protocol'
import { redact } from './redact.ts'

/**
 * The form of an event in responses. Its texts were masked when it was stored; a changed field of the state may also contain a
 * record with secrets, such as an analyzer's key, and is redacted like any other record.
 */
export function shownEvent(event: Event): WireEvent {
  const wire = wireEvent(event)
  return event.kind === 'StateChangedEvent' ? (redact(wire, 'socket') as WireEvent) : wire
}
