/** `holdfast/conformance`: what a store is tested with, and what its histories are judged by. */
export { SeededRandom, settle, VirtualClock } from './virtual-clock.js'
