/** A process of the lab. */
import { PARTS } from './parts.js'
import { serve } from './processes/serve.js'

serve(PARTS)
