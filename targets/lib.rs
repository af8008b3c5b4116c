//! What each SM is: the instruction table, encoder, decoder, disassembler, and the SASS simulator.
